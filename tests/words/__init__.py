"""The texts of the project in every language: collected, merged into the catalogues, and checked."""
