"""Studies: how well each method finds a truth that is known, over many simulations."""
