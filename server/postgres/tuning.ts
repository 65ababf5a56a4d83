// Memory and disk parameters of the server.

/** PostgreSQL parameters in its own notation, such as "128MB". */
export interface Tuning {
  readonly shared_buffers: string;
  readonly work_mem: string;
  readonly maintenance_work_mem: string;
  readonly max_wal_size: string;
}

/** PostgreSQL's defaults. */
export const defaultTuning: Tuning = { shared_buffers: "128MB", work_mem: "4MB", maintenance_work_mem: "64MB", max_wal_size: "1024MB" };
