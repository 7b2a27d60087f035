"""What groups need beside their games: results, reliability, profiles, blocks, talk. `server/play` does not know it."""
