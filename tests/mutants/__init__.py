"""Small faults planted in the product, one at a time, to see whether the tests notice."""
