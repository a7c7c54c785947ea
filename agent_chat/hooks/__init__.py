"""What hosts call at certain moments of a session: reads their JSON, writes no channel, ends with status 0."""
