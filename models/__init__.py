"""What moves: meshes, materials, solids, bars and the sparse factor; no knowledge of contact or coupling."""
