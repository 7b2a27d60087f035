"""The words of the house in every language: found, brought into the catalogues, and checked."""
