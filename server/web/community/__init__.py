"""Pages of the community: profiles, blocks, open tables, exports."""
