"""Running the server: doctor, serving, metrics, health."""
