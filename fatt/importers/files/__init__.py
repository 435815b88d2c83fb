"""What a model file may hold: pickles, skops archives, bundles, and what is none."""
