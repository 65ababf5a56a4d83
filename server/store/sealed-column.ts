// Describes a column of texts sealed by the vault. The owner of each table declares its own.

export interface SealedColumn {
  readonly table: string;
  /** Key column of the table. */
  readonly key: string;
  readonly column: string;
  readonly purpose: string;
  /** SQL list of the texts that a value is bound to. */
  readonly boundTo: string;
}
