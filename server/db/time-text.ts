// Times as the contract writes them, made by PostgreSQL where a row becomes JSON or a hash without the kernel's shapes.

/** SQL for a column of times as RFC 3339 in milliseconds. The session's zone is UTC. */
export const timeText = (column: string): string => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
