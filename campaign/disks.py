from campaign.part import Case, Findings, Part
PART = Part("disks", 1, lambda number: 10.0, lambda folder, short: None, lambda case: Findings())
