// How much memory and disk the server uses.

/** Parameters of PostgreSQL as it writes them: `shared_buffers` as "128MB". */
export interface Tuning {
  readonly shared_buffers: string;
  readonly work_mem: string;
  readonly maintenance_work_mem: string;
  readonly max_wal_size: string;
}

/** PostgreSQL's own defaults, if nothing is known of the machine. */
export const defaultTuning: Tuning = { shared_buffers: "128MB", work_mem: "4MB", maintenance_work_mem: "64MB", max_wal_size: "1024MB" };
