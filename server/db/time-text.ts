// Times in the contract's format, rendered by PostgreSQL.

/** Returns SQL for RFC 3339 in milliseconds. The session's time zone is UTC. */
export const timeText = (column: string): string => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
