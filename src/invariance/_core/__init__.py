"""The foundation of all rooms: checks, random streams, parallel maps, progress, safe writes. Nothing about images."""
