// A column of texts that the vault has sealed, as each table's file describes its own.

export interface SealedColumn {
  readonly table: string;
  /** Of the table's key. */
  readonly key: string;
  readonly column: string;
  readonly purpose: string;
  /** What a row's text is bound to, as SQL: a list of texts. */
  readonly boundTo: string;
}
