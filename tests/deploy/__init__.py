"""The documentation of deployment, carried out on this machine."""
