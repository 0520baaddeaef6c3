"""What every floor stands on: random streams, parallel maps, progress, safe writes. Nothing about images."""
