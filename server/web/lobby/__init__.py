"""Games before they begin: the list, new games, invitations, rules."""
