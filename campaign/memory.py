from campaign.part import Findings, Part

PART = Part("memory", 1, lambda number: 10.0, lambda folder, short: None, lambda case: Findings())
