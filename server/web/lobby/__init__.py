"""Games before they begin: the lobby, new games, invitations, rules."""
