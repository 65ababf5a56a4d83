// A column sealed by the vault, declared by the table's owner.

export interface SealedColumn {
  readonly table: string;
  readonly key: string;
  readonly column: string;
  readonly purpose: string;
  /** SQL list of texts. */
  readonly boundTo: string;
}
