// Every number that bounds something, with its reason. Nothing elsewhere bounds by a number of its own.

export const limits = {
  /** requirement: Limits. */
  pageSizeDefault: 50,
  pageSizeMax: 200,
  pageTokenLifetimeMs: 3 * 24 * 60 * 60 * 1000,
  /** A skip walks the rows it skips; a page token does not. */
  skipMax: 1_000_000,

  /** decisions: JSON. */
  bodyBytesMax: 1024 * 1024,
  /** decisions: One host; the default of the gRPC libraries. */
  grpcMessageBytesMax: 4 * 1024 * 1024,
  /** Nested JSON beyond this is an attack, not a resource: the deepest message of the contract has 5 levels. */
  jsonDepthMax: 32,
  /** Violations that one answer lists; a body of nothing but mistakes would otherwise be answered with more than itself. */
  violationsMax: 100,
  /**
   * The deepest group (CreateGroup's parent: 1,024 characters) with all that can lie below it; an index entry of
   * PostgreSQL holds 2,704 bytes. Over gRPC a text of 4 MiB would else be a uid of 250,000 levels.
   */
  uidLengthMax: 2048,
  /** node:http's default; a token with many claims is below 8 KiB. */
  headerBytesMax: 16 * 1024,
  urlBytesMax: 8 * 1024,

  /** How long a peer may take to show its first bytes, send its headers, its whole request; then it is cut. */
  prefaceTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** Idle keep-alive connections; above the 60 s of common load balancers, so that they close first. */
  idleTimeoutMs: 75_000,
  /** One HTTP/2 connection: streams at once, and resets before it is taken for a rapid-reset attack. */
  streamsMax: 256,
  streamResetsMax: 1000,
  connectionsMax: 10_000,
  /** How long a call without a deadline of its own may run. */
  callDeadlineMs: 30_000,
  /** How long in-flight calls may finish after a stop was asked for. */
  drainMs: 10_000,
  /** A second signal so soon after the first is the same one, come by another way. */
  signalEchoMs: 500,

  /** PostgreSQL: one statement; one idle transaction. A list that needs longer lacks an index. */
  statementTimeoutMs: 15_000,
  /** Connections: reads are pipelined over few (measured: 2-4 best), group commit wants many writers. */
  readConnections: 3,
  writeConnections: 12,
  /** Tries of a transaction that lost a serialization race or a deadlock. */
  transactionTriesMax: 5,

  /** Our access tokens. requirement: "up to an hour". */
  accessTokenLifetimeMs: 60 * 60 * 1000,
  /** How long a key signs before the next one takes over; how often a server looks for what is due. */
  signingKeyLifetimeMs: 90 * 24 * 60 * 60 * 1000,
  upkeepMs: 60 * 60 * 1000,
  /** Longest token text that is looked at. */
  tokenBytesMax: 16 * 1024,
  /** Verified tokens held in memory. */
  tokenCacheEntries: 20_000,
  /** Callers whose rights are held in memory (each checked against the store's version by every request). */
  rightsCacheEntries: 20_000,
  /** Difference of clocks that token times may have. */
  clockSkewMs: 60_000,

  /** Outbound: discovery and keys. */
  outboundTimeoutMs: 5_000,
  outboundBytesMax: 512 * 1024,
  issuerCacheEntries: 1_000,
  issuerKeysLifetimeMs: 10 * 60 * 1000,
  /** An unknown kid asks the issuer again at most this often. */
  issuerRetryMs: 30_000,

  /** One file of a feed, held in memory while it is read. */
  feedFileBytesMax: 64 * 1024 * 1024,

  /** AIP-233 and the public platform: bindings of one batch. */
  batchMax: 25,
  /** A static key set lives at most (and by default) this long. */
  staticKeysLifetimeMs: 365 * 24 * 60 * 60 * 1000,

  /** A branch of at most this many rows is sorted; a larger one walks the order's index (docs/decisions). */
  sortRowsMax: 5_000,

  /** Safe writes: how long an answer is kept for its idempotency key. Longest key as with the field's leaders. */
  idempotencyLifetimeMs: 24 * 60 * 60 * 1000,
  idempotencyKeyLengthMax: 255,
} as const;
