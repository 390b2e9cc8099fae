"""Jobs of all kinds while a lab's networks go wrong by a plan that a seed repeats: see tests/test_soak.py."""
