// Every limit with its reason. No other file defines a numeric bound.

import { clientLimits } from "./client-limits.ts";

export const limits = {
  /** requirement: Limits. */
  pageSizeDefault: 50,
  pageSizeMax: 200,
  pageTokenLifetimeMs: 3 * 24 * 60 * 60 * 1000,
  /** Skipping walks rows as counting does. From here on the list is counted first, so that a skip costs at most two counts. */
  countedSkipMin: 1_000,

  /** decisions: JSON. */
  bodyBytesMax: 1024 * 1024,
  /** decisions: One host; the default of the gRPC libraries. */
  grpcMessageBytesMax: 4 * 1024 * 1024,
  /** Levels of nested JSON: the deepest message of the contract has 5. */
  jsonDepthMax: 32,
  /** Keys and elements of one message, counted before parsing: the longest list has 1,000 uids; 10,000 values parse in about 5 ms. */
  messageValuesMax: 10_000,
  /** Unauthenticated bodies: a token has at most 16 KiB, and some operations take two. */
  openBytesMax: 64 * 1024,
  /** Violations in a response, which must not outgrow an invalid request. */
  violationsMax: 100,
  /** The deepest group (CreateGroup's parent: 1,024 characters) with its levels; index entries hold 2,704 bytes. */
  uidLengthMax: 2048,
  /** node:http's default; a token with many claims has less than 8 KiB. */
  headerBytesMax: 16 * 1024,
  urlBytesMax: 8 * 1024,
  /** Events store it; common browsers and tools send at most 200 characters. */
  userAgentLengthMax: 256,

  /** Reserved names after renames; otherwise one organization could reserve all names. */
  reservedNamesMax: 10,
  /** Name problems that doctor lists per kind. */
  nameProblemsMax: 50,

  /** Time for a peer to send its first bytes, its headers, and its whole request. */
  prefaceTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** Idle keep-alive connections. Above the 60 s of common load balancers, so that they close first. */
  idleTimeoutMs: 75_000,
  /** HTTP/2, per connection: concurrent streams, and resets that count as a rapid-reset attack. */
  streamsMax: 256,
  streamResetsMax: 1000,
  connectionsMax: 10_000,
  /** Per IPv4 address or IPv6 /64, which is what a provider assigns to one customer. */
  connectionsPerAddress: 1_000,
  connectionsPerAddressMax: 1_000_000,
  /** A request with its response: an unpaged list of 100,000 takes this long at 1 Mbit/s. */
  exchangeTimeoutMs: 5 * 60 * 1000,
  /** Time for a peer to close after GOAWAY or Connection: close. */
  hangUpMs: 5_000,
  /** An unread body: time for the client to read the response, and number of such connections. */
  unreadMs: 1_000,
  unreadMax: 128,
  /** HSTS: one year, as preload lists require. */
  hstsSeconds: 31_536_000,
  /** Interval of certificate checks; a renewed one is active after two. */
  certificateLookMs: 5_000,
  /** Calls without a deadline of their own. */
  callDeadlineMs: 30_000,
  /** Time for in-flight calls to finish during shutdown. */
  drainMs: 10_000,
  /** Timeout of a systemd notification, which waits until systemd has read it. */
  serviceNoticeMs: 10_000,
  /**
   * Workers (GANTRY_WORKERS): maximum, as the embedded database has 37 connections for them; interval of rate announcements (a
   * hundred per second cost 2 ms of CPU time); restart pause, doubled up to the maximum; run time that resets it.
   */
  workersMax: 8,
  siblingsTellMs: 10,
  workerPauseMs: 100,
  workerPauseMaxMs: 30_000,
  workerSteadyMs: 60_000,
  /** A second signal within this time is an echo of the first. */
  signalEchoMs: 500,

  /** PostgreSQL: timeouts of a statement and of an idle transaction. A slower list lacks an index. */
  statementTimeoutMs: 15_000,
  /** Client-side timeout of a PostgreSQL response: the statement timeout plus transfer. */
  databaseAnswerMs: 17_000,
  /**
   * Dependencies (server/health): silence after which the database has failed, good probes to recover, interval of repeated log lines,
   * difference of clocks; interval of probes and their timeout, and intervals between two probes that cannot hang, while good; share of
   * the memory; descriptors that clients leave. A failure must be found within 3 s.
   */
  databaseSilentMs: 2_000,
  recoveryProbes: 3,
  failureLogMs: 300_000,
  clockApartMs: 30_000,
  probeMs: 900,
  probeAnswerMs: 2_000,
  calmProbeBeats: 3,
  memoryShareMax: 0.9,
  descriptorsKept: 1_000,
  /** DNS has failed after this many names without a response, until there were no lookups for a while. */
  dnsNamesMin: 3,
  dnsRestMs: 300_000,
  /** DATABASE_URL: hosts, interval of the search for the primary, and its timeout. A new primary must be found within 5 s. */
  databaseHostsMax: 8,
  primaryLookMs: 1_000,
  hostAnswerMs: 2_000,
  /** Lists from a replica: maximum lag, pause after a failure, organizations whose last events are compared. */
  replicaLagMs: 10_000,
  replicaPauseMs: 10_000,
  replicaRootsMax: 4,
  /** TCP keepalive: silence before the first of ten probes, one second apart. */
  keepAliveDelayMs: 10_000,
  /** Shutdown: total time, and time to close the database under unfinished work. */
  stopMs: 12_000,
  storeCloseMs: 2_000,
  /** Connections: reads are pipelined over few (measured: 2 to 4 are best); group commit benefits from many writers. */
  readConnections: 3,
  writeConnections: 12,
  /** Timeout of a cheap read, which then moves to the wide ones. */
  cheapReadTimeoutMs: 250,
  /** Rows of pages in flight on the connections for cheap reads: in total, per organization. */
  pageRows: 8_192,
  pageRowsEach: 640,
  /** Cached statements of first pages per table, and the longest selection that is cached. */
  keptStatementsMax: 200,
  keptStatementKeyMax: 1_000,
  /**
   * Wide reads (counts, skips, unindexed filters): connections, in total and per organization, since each keeps a core busy. Fast
   * statements count as cheap for a while.
   */
  wideReadConnections: 4,
  wideReadsEach: 2,
  wideReadsAlone: 3,
  wideReadsWaiting: 1_024,
  wideReadsWaitingEach: 64,
  quickStatementMs: 2,
  statementCostLifetimeMs: 60_000,
  /** Remembered statements per organization (27 bytes each), organizations, and values per list filter. */
  statementsEachMax: 256,
  statementOrganizationsMax: 2_000,
  quickValuesMax: 32,
  /** Write transactions per organization, the same while no other one writes, and waiting ones: a few hundredths of a second. */
  writesEach: 6,
  writesAlone: 11,
  writesWaiting: 2_048,
  writesWaitingEach: 512,
  /**
   * Authenticated calls per kind (gets, lists, changes): in flight, waiting, per organization. A get takes 20 µs (measured), so
   * 32 delay others by less than a millisecond; lists and changes also queue in the store.
   */
  callsUnderWay: 4_096,
  getsEach: 32,
  listsEach: 96,
  changesEach: 224,
  /** Calls that upload content (blobs, manifests) last as long as the client sends: a hundred concurrent pushes. */
  uploadsEach: 512,
  /**
   * Generated files (archives, lists of all records), which hold megabytes and a slot until the end: per organization, as a
   * scanner's mirror fetches, and in total.
   */
  filesEach: 4,
  filesUnderWay: 64,
  callsWaiting: 8_192,
  callsWaitingEach: 1_024,
  /** Error responses per organization or unknown address before they are delayed; keys in memory (200 bytes each); delayed responses. */
  refusalsBurst: 1_000,
  refusalsPerSecond: 300,
  refusalDelayMs: 1_000,
  refusalKeysMax: 20_000,
  delayedRefusalsMax: 10_000,
  /** Queue time of a call: below its deadline, so that the response states the reason. */
  turnWaitMs: 10_000,
  /** Rows loaded in one batch; more would delay the first of them. */
  batchLoadRowsMax: 32,
  /** Attempts of a transaction after serialization failures or deadlocks. */
  transactionTriesMax: 5,

  /** Our access tokens. requirement: "up to an hour". */
  accessTokenLifetimeMs: 60 * 60 * 1000,
  /** Lifetime of a signing key before its successor takes over; interval of maintenance. */
  signingKeyLifetimeMs: 90 * 24 * 60 * 60 * 1000,
  maintenanceMs: 60 * 60 * 1000,
  /**
   * Memory checks: intervals until the server is first idle and later, event loop use that counts as idle (a 50 ms pause is then
   * hardly noticed), and growth worth a collection.
   */
  memoryStartLookMs: 1_000,
  memoryLookMs: 10_000,
  calmUtilization: 0.15,
  memoryGrowthMax: 1.25,
  /** Memory of an import command: interval of checks, and the growth that triggers a collection. */
  bulkLookMs: 50,
  bulkGrowthBytes: 80_000_000,
  /** The longest token that is parsed. */
  tokenBytesMax: 16 * 1024,
  /** Verified tokens in memory. */
  tokenCacheEntries: 20_000,
  /** Callers with cached permissions; each request checks their version in the database. */
  rightsCacheEntries: 20_000,
  /** Sessions of one user known not to be revoked, cached with the permissions. */
  liveSessionsMax: 1_000,
  /** Tolerated clock difference for token times. */
  clockSkewMs: 60_000,

  /** Outbound: discovery and keys. */
  outboundTimeoutMs: 5_000,
  outboundBytesMax: 512 * 1024,
  /** Time to connect, including name lookup and the first addresses. Below the total, to tell an unreachable host from a slow one. */
  outboundConnectMs: 3_500,
  outboundAddressesMax: 4,
  nameTimeoutMs: 3_000,
  nameTryMs: 1_000,
  nameTriesMax: 2,
  /** Concurrent outbound requests per purpose, in total and per organization (or host, if no organization is known). */
  issuerFetchesMax: 64,
  issuerFetchesEachMax: 16,
  sinkFetchesMax: 512,
  sinkFetchesEachMax: 192,
  feedFetchesMax: 16,
  feedFetchesEachMax: 8,
  /** Metadata documents of sign-in clients: small, and fetched for anonymous callers, so few at a time. */
  clientFetchesMax: 32,
  clientFetchesEachMax: 2,
  /** Audit log targets of the operator: one batch each at a time. */
  auditFetchesMax: 64,
  auditFetchesEachMax: 64,
  issuerCacheEntries: 1_000,
  /** Key sets in memory per organization, in KiB (2 to 5 each), and organizations. */
  issuerShareKiB: 256,
  issuerPartiesMax: 1_000,
  /** Remembered failed issuers per organization. */
  issuerFailuresMax: 200,
  /** Attempts per organization, in issuerRetryMs, at unreached issuers that anonymous callers name through a pattern. */
  issuerTriesMax: 20,
  issuerKeysLifetimeMs: 10 * 60 * 1000,
  /** Minimum interval between refetches for an unknown kid. */
  issuerRetryMs: 30_000,
  /** Maximum pause after failures of an issuer; the pause doubles each time. */
  issuerPauseMaxMs: 2 * 60 * 1000,
  /** Remembered unreachable hosts per organization. */
  silentHostsMax: 200,

  /**
   * Requests per minute of an unidentified address (IPv4, IPv6 /64), per server; a bucket holds a minute's worth. Sized for a
   * company behind one address: a thousand jobs that exchange tokens at once, morning sign-ins, three hundred terminals that poll
   * every 2 s, and scanners that fetch the feed in each job.
   */
  exchangesPerMinute: 6_000,
  signInsPerMinute: 600,
  deviceAuthorizationsPerMinute: 60,
  openReadsPerMinute: 12_000,
  refusedRefreshTokensPerMinute: 300,
  wrongUserCodesPerMinute: 10,
  /** Client documents fetched on behalf of one address; a company uses some dozens. */
  clientDocumentsPerMinute: 30,
  /** Addresses in memory for each of these, about 200 bytes each. */
  clientAddressesMax: 20_000,
  /** Interval between counts of the rows of all addresses; a count takes up to 20 ms. */
  openRowsCountMs: 1_000,

  /** authentication.md: 6. Age of a signed AWS request, and how far it may be ahead of our clock. */
  awsRequestAgeMs: 15 * 60 * 1000,
  awsRequestAheadMs: 5 * 60 * 1000,
  /** Concurrent requests to AWS, made before the caller is verified. */
  awsCallsMax: 16,
  /** A GetCallerIdentity response has about 500 bytes. */
  awsAnswerBytesMax: 16 * 1024,
  /** Claim patterns in the blast radius check (attack 27); more count as specific. */
  widthPatternsMax: 32,
  /** Interval between access requests of one user to one organization. */
  accessRequestMs: 24 * 60 * 60 * 1000,

  /** Scheduled feeds: interval of checks, lease without a heartbeat (longer than a fetch), first delay after a failure. */
  feedLookMs: 15_000,
  feedLeaseMs: 15 * 60 * 1000,
  feedRetryMs: 60 * 1000,
  /**
   * What an import may remove (docs/decisions/0073): compared with the largest count of these days, a drop above this share and
   * number, in one run or within feedDropDays, needs the flag or the same result over feedHoldMs.
   */
  feedBaselineDays: 30,
  feedDropDays: 7,
  feedDropShare: 0.1,
  feedDropRecordsMin: 5,
  feedHoldMs: 72 * 60 * 60 * 1000,
  /** Age of the last success after which a source is stale (docs/decisions/0074), by default. */
  feedStaleMs: 72 * 60 * 60 * 1000,
  /** The operator's maximum, in hours: ten years. */
  feedStaleHoursMax: 87_600,
  /** Ecosystems per image; the rest count as one without a source. */
  imageEcosystemsMax: 100,
  /** Images and ecosystems named in a coverage statement; the rest is counted. */
  unjudgedShownMax: 100,
  /** Coverage rows (ecosystems of groups) evaluated at once. */
  coverageRowsMax: 20_000,
  /** Names of missing release files that the API lists. */
  feedAbsentFilesMax: 100,
  /** Records of a source that the API lists as held back: enough to judge a drop, in about 3 MB. */
  feedHeldRecordsMax: 10_000,
  /**
   * Feed downloads: total time (OSV's archive exceeds a gigabyte and goes to a file), silence, free disk space, redirects. Other
   * responses are short.
   */
  feedFetchMs: 60 * 60 * 1000,
  feedIdleMs: 60 * 1000,
  feedSpaceLeftBytes: 512 * 1024 * 1024,
  feedRedirectsMax: 3,
  /**
   * File blobs: concurrent writers, each with two buffers of this size (4 MiB in total); intervals of disk checks and syncs; free
   * disk space, because a full disk stops the database; read size, less under load.
   */
  blobWriteSlots: 8,
  blobWriteBytes: 256 * 1024,
  blobTurnBytes: 2 * 1024 * 1024,
  blobTurnIdleMs: 20,
  blobSpaceLookBytes: 64 * 1024 * 1024,
  blobSyncBytes: 16 * 1024 * 1024,
  blobSpaceLeftBytes: 512 * 1024 * 1024,
  blobReadBytes: 256 * 1024,
  blobReadsLarge: 8,
  blobReadBytesMin: 32 * 1024,
  /** Bytes between checks of used buffers, and old ones before a collection (about 20 ms). */
  blobYoungBytes: 8 * 1024 * 1024,
  blobOldBytes: 16 * 1024 * 1024,
  /**
   * S3 blobs: minimum part size; 10,000 parts must suffice for 5 TiB. Parts of 1/512 of the preceding bytes make about 4,200;
   * remainders of appends (at least 1/1024) stay below the limit.
   */
  s3PartBytesMin: 5 * 1024 * 1024,
  s3PartBytes: 8 * 1024 * 1024,
  s3PartGrowth: 512,
  s3RestGrowth: 1_024,
  s3TriesMax: 4,
  s3ConnectMs: 5_000,
  s3IdleMs: 60_000,
  s3ConnectionsMax: 64,
  /** Documents and pages behind one address; the largest CSAF provider has about 40,000. */
  feedLinksMax: 200_000,
  /**
   * Companions of a document: a hash has 200 bytes, a signature a kilobyte, a key some hundred. Keys per provider, addresses per
   * security.txt, and documents without companions before the folder counts as having none.
   */
  feedCheckBytesMax: 64 * 1024,
  feedKeyBytesMax: 1024 * 1024,
  feedSigningKeysMax: 20,
  feedProvidersMax: 5,
  feedUncheckedMax: 10,
  /** Pages of the NVD API, 2,000 records each. */
  feedPagesMax: 1_000,
  /** The NVD allows five requests in 30 s without a key, fifty with one. */
  nvdPauseMs: 6_000,
  nvdKeyPauseMs: 600,
  /** A page of a busy host: attempts and delay. */
  feedPageTriesMax: 3,
  feedPageRetryMs: 6_000,
  /** APIs that list changes: interval of full reads (the NVD allows 120 days), and overlap to catch late ones. */
  feedFullMs: 30 * 24 * 60 * 60 * 1000,
  feedOverlapMs: 6 * 60 * 60 * 1000,
  /** One file of a registry's folder, held in memory while it is read. */
  feedFileBytesMax: 64 * 1024 * 1024,
  /** An unpacked feed document, held in memory; the largest known (CSAF) has 12 MiB. */
  feedDocumentBytesMax: 32 * 1024 * 1024,
  /** JSON Lines: the longest line, and the whole file. Only one line is in memory. */
  feedLineBytesMax: 8 * 1024 * 1024,
  feedSourceBytesMax: 8 * 1024 * 1024 * 1024,
  /**
   * A zip archive: entries (OSV's archive has 1.8 million). More than a gigabyte and fifty times the packed size is not text,
   * which shrinks to a tenth.
   */
  feedArchiveEntriesMax: 5_000_000,
  feedArchiveUnpackedBytesMax: 1024 * 1024 * 1024,
  feedArchiveGrowthMax: 50,
  /** In larger archives some hundred entries are remembered together, by checksum. */
  feedArchiveFilesMax: 10_000,
  feedBundleEntries: 128,
  feedBundleEntriesMax: 512,
  /** A full YAML parse takes a hundred times the text and 1 s per megabyte; the largest known has 120 KiB. */
  feedYamlLengthMax: 2 * 1024 * 1024,
  /** CSAF allows branches 30 deep, each two levels of JSON. */
  feedDepthMax: 100,
  feedXmlLengthMax: 8 * 1024 * 1024,
  feedYamlAliasesMax: 100,
  feedYamlValuesMax: 500_000,
  /** A note is a few lines; the longest known CVE description has 40 KiB. */
  feedProseLengthMax: 256 * 1024,
  /** Names are indexed (entries hold 2,704 bytes); lists of paths in componentLocation have 483 characters. */
  feedNameLengthMax: 2_000,
  feedIdLengthMax: 512,
  /** Versions and version expressions; real ones have at most about 100 characters. */
  versionLengthMax: 512,
  /** Events of one record evaluated for one version; the largest real records have about 500. */
  rangeEventsMax: 10_000,
  /** CVE allows 2,048 characters. */
  feedUrlLengthMax: 8 * 1024,
  /** A product's lifecycle: the longest real one has 80 releases and as many names. */
  lifecycleReleasesMax: 2_000,
  lifecycleNamesMax: 500,
  lifecycleGraceMonthsMax: 120,
  /** Groups whose lifecycles of one product are compared for one response, about 10 kB each. */
  lifecyclesComparedMax: 200,
  /** Packages searched for a page of tags whose names contain no version. */
  lifecyclePackagesMax: 20_000,
  /** One import transaction, or one part of JSON Lines: large enough for bulk, small enough to repeat. */
  feedBatchRecords: 500,
  feedBatchBytes: 512 * 1024,
  feedBatchFiles: 256,
  /** Documents reread after another source withdraws their records, compressed to about a fifth. */
  feedAgainBytes: 128 * 1024,
  feedPartLines: 500,
  feedPartBytes: 256 * 1024,
  /** Interval of import progress lines without a terminal. */
  progressLineMs: 5_000,
  /** Rejections listed in a summary. */
  feedRefusalsMax: 10_000,
  /** Bytes of a file that identify its format. */
  feedHeadLength: 16 * 1024,
  /** Files looked up together, and archive entries in them, one kilobyte each. */
  feedChunkFiles: 64,
  feedChunkDocuments: 512,
  feedChunkBytes: 4 * 1024 * 1024,
  /** Documents read together to evaluate versions: OSV records have 4 KiB, at most some MiB. */
  matchedDocuments: 100,
  /** A pushed SBOM: unpacked bytes, packages, time of its thread, and values as in 200,000 packages with every field, which take 700 MB. */
  sbomBytesMax: 64 * 1024 * 1024,
  sbomPackagesMax: 200_000,
  sbomReadMs: 30_000,
  sbomValuesMax: 8_000_000,
  sbomMemoryMb: 1024,
  /**
   * A layer whose packages are read. The largest known layers unpack to 20 GiB with 500,000 entries, and paths have at most 4,096
   * bytes on Linux. An extended header has extended attributes of at most 64 KiB each.
   */
  layerUnpackedBytesMax: 64 * 1024 * 1024 * 1024,
  layerEntriesMax: 2_000_000,
  layerPathLengthMax: 4096,
  layerExtensionBytesMax: 1024 * 1024,
  layerExtensionsMax: 16,
  layerReadMs: 10 * 60 * 1000,
  /** Memory of a zstd window: level 19 takes 8 MiB, and readers need not take more (RFC 8878). A block has at most 128 KiB. */
  zstdWindowLogMax: 25,
  zstdBlockBytesMax: 128 * 1024,
  zstdWholeFrameBytesMax: 1024 * 1024,
  unpackChunkBytes: 256 * 1024,
  /**
   * Process that reads a layer: with native memory, checked each time a few MiB were unpacked; its own heap of JavaScript, and half of
   * the part for young objects. Of a GiB of text it takes 81 MiB, and 105 MiB with Node's default of 16 MiB for young objects.
   */
  layerMemoryBytesMax: 128 * 1024 * 1024,
  layerHeapMb: 64,
  layerYoungMb: 2,
  layerCheckBytes: 4 * 1024 * 1024,
  /** Problems listed for a layer; further ones are counted. */
  layerProblemsMax: 100,
  /** Packages of a layer, and databases: a node_modules folder has 5,000, the largest known image 60,000. */
  layerPackagesMax: 200_000,
  /**
   * An image: layers, of which container runtimes mount at most 128, paths of all layers in memory, and the time to read them. Images
   * with fewer steps are composed in the server itself, which takes 0.2 s; others in a process, bounded in time and memory.
   */
  imageLayersMax: 500,
  imagePathsMax: 4_000_000,
  imageReadMs: 30 * 60 * 1000,
  /** Images with the same layers, the oldest, among which a base image is looked for. */
  baseImageCandidates: 200,
  /** Above this number of images, the layers of all images of the organization are read once. */
  baseImageLookups: 1_000,
  /** Findings that a list compares with their layers, if it filters by these. */
  layeredFindings: 50_000,
  /** Tags that are listed for a base image. */
  baseImageTags: 10,
  /** Length of the name of a base image in an annotation. */
  baseImageNameMax: 300,
  composedAtOnceMax: 50_000,
  composeMs: 2 * 60 * 1000,
  composeHeapMb: 512,
  /** Contents of a layer in the database: packed, and unpacked. Half a million paths, the most of known layers, have 4 MB. */
  storedContentsBytesMax: 8 * 1024 * 1024,
  packedContentsBytesMax: 256 * 1024 * 1024,
  /**
   * Reading of pushed images: interval of checks, turn, lease, retry delays (first and maximum), attempts, images queued again together.
   * A layer of 200 MiB takes 5 s; images that take longer are slow if others wait. An organization has a share of the slow queue.
   */
  contentsLookMs: 1_000,
  contentsTurnMs: 30_000,
  contentsSlowMs: 5_000,
  slowContentsWaiting: 256,
  slowContentsWaitingEach: 16,
  slowContentsRetryMs: 10 * 60 * 1000,
  contentsHoldMs: 60 * 1000,
  contentsRetryMs: 10_000,
  contentsRetryMaxMs: 60 * 60 * 1000,
  contentsTriesMax: 10,
  contentsRequeuedMax: 1_000,
  /** Steps in a turn that queue the stored images of new SBOM rules. */
  sbomRuleSteps: 10,
  /** Rules of one repo or group that attach SBOMs. After an exceeded quota, the server tries again after this time. */
  sbomRulesEach: 50,
  attachedSbomRetryMs: 24 * 60 * 60 * 1000,
  /**
   * Packages of an image in a response: images composed together, for all and for one organization, waiting requests, and times. An
   * exported SBOM with 20,000 packages has 16 MB.
   */
  shownContentsPlaces: 2,
  shownContentsWaiting: 64,
  shownContentsWaitingEach: 16,
  shownContentsWaitMs: 20_000,
  shownContentsReadMs: 10_000,
  exportedPackagesMax: 20_000,
  /** A text database in memory: dpkg's status with 5,000 packages has 6 MiB. Metadata of one package is smaller. */
  databaseTextBytesMax: 16 * 1024 * 1024,
  packageTextBytesMax: 1024 * 1024,
  /** Files that are read from their end (executables, jars, rpm databases) are copied to a temporary file; small ones stay in memory. */
  spoolBytesMax: 1024 * 1024 * 1024,
  spoolMemoryBytesMax: 256 * 1024,
  /** Jars in jars: a Spring Boot application in an enterprise archive has a depth of two. */
  jarDepthMax: 3,
  jarEntriesMax: 200_000,
  jarNestedBytesMax: 128 * 1024 * 1024,
  /** Data of cargo-auditable is limited to 8 MiB by its format. */
  auditableBytesMax: 8 * 1024 * 1024,
  goInfoBytesMax: 4 * 1024 * 1024,
  executableSectionsMax: 4096,
  /** One rpm header; rpm itself refuses more than 256 MiB. */
  rpmHeaderBytesMax: 32 * 1024 * 1024,
  /** Pushed SBOMs: interval of checks, lease, retry delays (first and maximum), attempts, remembered organizations. */
  sbomLookMs: 2_000,
  /** Documents examined per manifest, or manifests per index. */
  sbomsOfManifestMax: 100,
  sbomHoldMs: 5 * 60 * 1000,
  sbomRetryMs: 10_000,
  sbomRetryMaxMs: 60 * 60 * 1000,
  sbomTriesMax: 20,
  sbomServedMax: 1_000,
  /**
   * An SBOM shown by version 1: unpacked bytes (real ones have up to 5 MB). One at a time per server, in a bounded thread;
   * waiting requests per organization and in total, and wait time.
   */
  shownSbomBytesMax: 16 * 1024 * 1024,
  shownSbomNodesMax: 50_000,
  shownSbomEdgesMax: 200_000,
  shownSbomReadMs: 10_000,
  shownSbomMemoryMb: 512,
  shownSbomsWaiting: 64,
  shownSbomsWaitingEach: 16,
  shownSbomsWaitMs: 20_000,
  /**
   * A pushed chart shown by version 1. Helm refuses archives above 100 MiB and files above 5 MiB; the largest known has 2 MiB
   * packed. Read like SBOMs.
   */
  chartBytesMax: 20 * 1024 * 1024,
  chartFileBytesMax: 4 * 1024 * 1024,
  chartEntriesMax: 10_000,
  chartReadMs: 10_000,
  chartMemoryMb: 512,
  shownChartsWaiting: 64,
  shownChartsWaitingEach: 16,
  shownChartsWaitMs: 20_000,
  /** A chart's configuration and list of images; one image takes about 100 characters. */
  chartConfigBytesMax: 256 * 1024,
  chartImagesLengthMax: 64 * 1024,
  /** Chart repositories of one organization whose latest chart is read for one response. */
  chartReposMax: 200,
  /** Images per request for packages, and packages per response, 300 bytes each. */
  manifestMetadataItemsMax: 200,
  manifestMetadataPackagesMax: 200_000,
  /** A scanner's report is parsed like an SBOM. Findings per report: a large image has some thousand. */
  reportFindingsMax: 100_000,
  /** A report as uploaded. JSON can double it, and clients accept 100 MB. */
  reportBytesMax: 32 * 1024 * 1024,
  /** Reports kept per image: two a day over the retention period. The oldest are deleted first. */
  reportsOfImageMax: 800,
  /** Statements of a pushed OpenVEX document, by product and ID; packages that they name, and characters of their notes. */
  vexStatementsMax: 10_000,
  vexPackagesMax: 20_000,
  vexNoteLengthMax: 2_000,
  /** Statements of others that are shown next to a finding, the latest. */
  findingVexMax: 20,
  /** Documents that are shown with the contents of an image, the latest. */
  imageVexMax: 20,
  /** Trusted sources of VEX in one organization, each of which a signed document is compared with; signatures of one document. */
  vexSourcesEach: 50,
  vexSignaturesMax: 10,
  vexRsaBitsMin: 2_048,
  vexRsaBitsMax: 8_192,
  /** Repositories whose images get Gantry's own reports together. */
  ownReportRepos: 100,
  /**
   * Report data counted by one call: 25 bytes per vulnerability, five times as much while counted. A year of daily reports of two
   * scanners with 800 vulnerabilities each.
   */
  countedReportsBytesMax: 16 * 1024 * 1024,
  /** Reports read together for a list; one with all findings may have some MiB. */
  reportsRead: 10,
  /** Superseded reports and resolved matches: a year and a month, to compare with the previous year. */
  reportKeptMs: 400 * 24 * 60 * 60 * 1000,
  /** Tags per transaction that ends them or rechecks their end, and interval of checks. */
  endedTagsMax: 200,
  tagEndsMs: 60_000,
  /** Batches of image matching: packages whose advisories are read together, images, rows per statement, and changes. */
  matchedNames: 200,
  matchedImages: 500,
  /** Kept names of packages of an organization, beyond which the names are read from its images. */
  packageLabelsMax: 100_000,
  matchedRows: 5_000,
  matchedChanges: 50_000,
  /** Findings whose severity and exploitation are updated in one transaction, and vulnerabilities looked for at once. */
  updatedFindings: 2_000,
  changedVulnerabilities: 1_000,
  /** Interval of a check that waits for an image, and its longest wait. */
  findingsWaitMs: 1_000,
  findingsWaitMaxMs: 24 * 60 * 60 * 1000,
  /** Time between two counts of findings by day. */
  findingDayMs: 10 * 60 * 1000,
  /** Counts by day: days of a response by default and at most, and rows of an organization that are read. */
  historyDaysDefault: 90,
  historyDaysMax: 400,
  historyRowsMax: 1_000_000,
  /** Images named in an event of affected images; the rest is counted (requirement: 1,000 digests). */
  toldDigestsMax: 1000,
  /** Events of one authored advisory; each change reads all of them. */
  authoredEventsMax: 1000,
  /** Advisories that an approved false positive or a decision records; the rest is not suppressed. */
  suppressedAdvisoriesMax: 10_000,
  /** Decisions about findings in one organization, which matching reads, and the longest time until one expires. */
  findingDecisionsEach: 10_000,
  decisionMsMax: 366 * 24 * 3600_000,
  /** Policies in one organization that require approvals of decisions. */
  approvalPoliciesEach: 100,
  /** Due date policies in one organization, which each matched finding reads, and findings that one step updates after a change. */
  dueDatePoliciesEach: 100,
  dueDateFindings: 2_000,
  /** Repos whose images without known packages are found in one transaction, and the time of it in a turn. */
  unreadImagesRepos: 20,
  /** A repo with more tags is written in pieces of so many. */
  unreadImagesTags: 10_000,
  unreadImagesTurnMs: 2_000,
  /** Time of due date updates in a turn of the loop that also matches images. */
  dueDatesTurnMs: 2_000,
  /** Digest events: findings that one event of a group counts as overdue, decisions named in an event, and the notice of an expiry. */
  overdueFindings: 20_000,
  namedDecisionsMax: 100,
  decisionNoticeMs: 7 * 24 * 3600_000,
  /** Events of coverage: time between two checks, how long a loss must last, rows that one statement reads, and ecosystems in an event. */
  coverageCheckMs: 10 * 60_000,
  coverageLossMs: 3600_000,
  coverageCheckRows: 1_000,
  namedEcosystemsMax: 100,
  /** Findings in an exported VEX document. */
  exportedFindingsMax: 20_000,

  /**
   * A readme (attack 35): lines, levels of lists and quotes, cells per row, brackets, backticks, parentheses (parsers disagree
   * beyond 32), and growth of its HTML, per character and constant; usually twofold.
   */
  readmeLinesMax: 20_000,
  readmeDepthMax: 100,
  readmeCellsMax: 2_000,
  readmeBracketsMax: 100,
  readmeRunMax: 32,
  readmeGrowthMax: 3,
  readmeGrowthSlack: 64 * 1024,
  /** Evaluating a readme takes at most 0.2 s in its thread (measured): timeout, memory, and queue length. */
  readmeJudgeMs: 2_000,
  readmeMemoryMb: 256,
  readmesWaitingMax: 32,

  /**
   * User patterns: documented ones have fewer than 100 characters. Costs are in instructions of 2 to 4 µs (measured): 3,000 allow
   * `.{1,1000}` or the longest literals, and an identity has a few.
   */
  patternLengthMax: 1024,
  patternClassLengthMax: 256,
  patternDepthMax: 32,
  patternCostMax: 3_000,
  identityPatternsCostMax: 8_000,
  /**
   * Matching per request: program times text, at most 100 ns a step. A token exchange matches 200 groups of 40 characters against
   * a pattern of 50. Longer texts match nothing; the blast radius check (attack 27) only warns.
   */
  matchedLengthMax: 1024,
  matchingStepsMax: 500_000,
  widthStepsMax: 100_000,

  /** Role bindings named in one reason (contract: CapabilityReason). */
  reasonGrantsMax: 25,
  /** Rows deleted with a parent, each with an event in the transaction: ten thousand take two seconds. */
  deletedRowsMax: 10_000,
  /**
   * Soft-deleted rows restored or purged per statement (0.1 s). Only statement time bounds a deletion's rows without events, and
   * all must be restorable.
   */
  keptRowsPage: 2_000,
  /** Days until a soft-deleted resource is purged. */
  deletedDays: 30,
  /** The operator's maximum; backups cover longer periods. */
  deletedDaysMax: 365,
  /** Items that an undelete omits and names; the rest is counted. */
  leftOutMax: 100,
  /** Rows checked together by an undelete, with two or three pipelined statements each. */
  returningBatchMax: 200,
  /** AIP-233 and the public platform: bindings per batch. */
  batchMax: 25,

  /** The operator's maximum; nothing beyond it was measured. */
  organizationQuotaMax: 1_000_000_000,
  storageQuotaMax: 900_000_000_000_000,
  /**
   * The operator's maximum of requests per second, above any process's throughput; seconds covered by a burst, because jobs start
   * together.
   */
  requestRateMax: 1_000_000,
  requestBurstSeconds: 10,
  /** Buckets in memory per kind, about 150 bytes each. */
  requestBucketsMax: 20_000,
  /** Delay until changed rates apply, and configured rates that are read. */
  ratesReadMs: 10_000,
  setRatesMax: 10_000,
  /** resources: SCIM tokens. Two calendar years contain at most one leap day. */
  scimTokenLifetimeMs: 365 * 24 * 60 * 60 * 1000,
  scimTokenLifetimeMaxMs: (2 * 365 + 1) * 24 * 60 * 60 * 1000,
  scimOverlapMs: 60 * 60 * 1000,
  scimOverlapMaxMs: 24 * 60 * 60 * 1000,
  /** Body of a SCIM request: a group of about 3,000 members. */
  scimBodyBytesMax: 256 * 1024,
  /**
   * A user's or group's attributes (profiles have 3 KiB), and in one PATCH names per object and values per attribute: without a
   * bound 80 KiB took half a minute.
   */
  scimDocumentBytesMax: 32 * 1024,
  scimNamesMax: 200,
  scimValuesMax: 200,
  /** RFC 7644 §3.4.2.4: users per response, default and maximum. Entra ID and Okta request 100 and 200. */
  scimPageSize: 100,
  scimPageMax: 500,
  /** Bytes of a list response (500 documents of 16 KB), and attribute names that a request selects. */
  scimListBytesMax: 8 * 1024 * 1024,
  scimShownNamesMax: 200,
  /** Terms of one filter, and nesting; clients send one or two. */
  scimFilterTermsMax: 50,
  scimFilterDepthMax: 10,
  /** Members, or groups of users, per response. Larger groups are read through their users (`members.value eq`). */
  scimMembersMax: 10_000,
  /** User IDs in the event of a group change. */
  scimToldMembersMax: 100,
  /** Operations of one PATCH. */
  scimOperationsMax: 1_000,
  /** Characters of userName, displayName and e-mail, which are indexed (2,700 bytes); indexed addresses per user. */
  scimNameLengthMax: 512,
  scimEmailsMax: 50,
  /**
   * Maximum lifetime of permissions delegated on the basis of sign-in groups: membership is checked at the next sign-in, and a
   * removed user must not retain access through earlier delegations.
   */
  sessionDelegationMs: 30 * 24 * 60 * 60 * 1000,
  /** Invite codes stay in mailboxes and must expire. */
  inviteLifetimeMs: 30 * 24 * 60 * 60 * 1000,
  /** OpenID Connect Core, 2: the longest subject, which is indexed. RFC 5321: the longest address. */
  subjectLengthMax: 255,
  emailLengthMax: 320,
  /** A name or picture URL from an issuer. */
  profileLengthMax: 2048,
  /** Maximum and default lifetime of a static key set. */
  staticKeysLifetimeMs: 365 * 24 * 60 * 60 * 1000,

  /** Device codes (RFC 8628): lifetime, interval, slow-down step (§3.5), and tolerance for clocks and networks. */
  deviceCodeLifetimeMs: 15 * 60 * 1000,
  devicePollEarlyMs: 1_000,
  /** The slowest polling interval that is requested. */
  devicePollIntervalMaxMs: 60_000,
  /** Open device codes, 1 KB each: per address and, as a last resort, in total. One address at its rate keeps some hundred open. */
  deviceCodesPerAddressMax: 300,
  deviceCodesMax: 100_000,
  /** How long an expired code is still reported as expired. */
  deviceCodeKeptMs: 60 * 60 * 1000,
  /** A client's self-description on the confirmation page. */
  deviceClientLengthMax: 64,
  /**
   * Wrong user codes per minute over all users before new codes grow (user-code.ts), how long they stay longer, and interval of
   * stored counts: guessing costs at most one row per interval.
   */
  userCodeGuessesMax: 600,
  userCodeGuessesWindowMs: 60_000,
  userCodesLongerMs: 60 * 60 * 1000,
  userCodeGuessesWriteMs: 1_000,
  /** Cookie of the confirmation pages: valid as long as a code. */
  confirmCookieLifetimeMs: 60 * 60 * 1000,
  /** How long a finished headless sign-in waits for its client, and the polling interval. */
  headlessSessionLifetimeMs: 5 * 60 * 1000,
  /** Waiting headless sign-ins, 3 KB each: per client address (one company's users within minutes), and in total. */
  headlessSessionsPerAddressMax: 1_000,
  headlessSessionsMax: 50_000,
  headlessPollIntervalMs: 2_000,
  /** `gantry login`: timeout of a request to the server; delay for the last browser page before exit. */
  signInAskTimeoutMs: 15_000,
  signInLastPageMs: 1_000,
  /**
   * Token lifetime left when another program gets it, for a large push's registry tokens. One process renews at a time: lock
   * expiry, poll interval, and total wait of a registry client.
   */
  registryTokenLeftMs: 30 * 60 * 1000,
  sessionTokenLeftMs: 60 * 1000,
  sessionLockMs: 40_000,
  sessionLockLookMs: 50,
  ...clientLimits,
  credentialHelperMs: 60_000,
  /** Characters of uids in one URL: Node accepts 16 KiB of headers, proxies often 8. */
  uidsInAddressLengthMax: 6_000,
  /** Request file size: above the server's limit, so that the server reports it. */
  requestFileBytesMax: 8 * 1024 * 1024,
  /** Duration after which progress is shown. */
  progressAfterMs: 1_000,
  /** The longest timeout that a command accepts. */
  longestWaitMs: 24 * 60 * 60 * 1000,
  /** All requests of one command. */
  callsOfCommandMs: 2 * 60 * 1000,
  /** docker's config.json and podman's auth.json: one line per registry. */
  registryFileBytesMax: 1024 * 1024,
  /** The user's contexts, about 200 bytes each; wait for another process's lock, longer than its expiry. */
  contextFileBytesMax: 256 * 1024,
  contextFileLockMs: 45_000,
  /** `gantry login --identity-token -`, and files that hold tokens. */
  identityTokenBytesMax: 16 * 1024,
  /** One line of `gantry whoami`: a uid of the deepest group, an address, a path. */
  whoamiTextLengthMax: 1_000,

  /**
   * Client ID Metadata Documents: size (5 KB in the draft, more with logos and translations), lifetimes, retry delay, and cache
   * size in KiB per address and in addresses.
   */
  clientDocumentBytesMax: 16 * 1024,
  clientDocumentTimeoutMs: 4_000,
  clientDocumentLifetimeMs: 5 * 60 * 1000,
  clientDocumentPauseMs: 15_000,
  clientDocumentsShareKiB: 64,
  clientDocumentPartiesMax: 200,
  clientIdLengthMax: 1024,
  clientRedirectsMax: 50,
  /**
   * Authorization codes: lifetime (RFC 6749 §4.1.2 allows ten minutes); pending ones, 2 KB each, per client address (a company's
   * morning) and in total.
   */
  authorizationCodeLifetimeMs: 60 * 1000,
  authorizationCodesPerAddressMax: 1_000,
  authorizationCodesMax: 50_000,
  /** OAuth `state`; it is part of a URL. */
  authorizationStateLengthMax: 1024,

  /** Sign-in at a provider's page, including password lookup and second factor. */
  signInLifetimeMs: 10 * 60 * 1000,
  /** The page before tokens are sent to a loopback port: short, because another program may take the port. */
  loopbackQuestionLifetimeMs: 2 * 60 * 1000,
  /** Started sign-ins, 2 KB each: per client address (a company's morning), and in total. */
  signInsPerAddressMax: 3_000,
  signInsMax: 200_000,
  /** Identity providers on the selection page; beyond it the client must name one. */
  offeredProvidersMax: 8,
  /** Names chosen by other users, as shown on a page. */
  shownNameLengthMax: 80,
  /** Longest redirect URI of a sign-in; with tokens added it must fit into a request line. */
  redirectLengthMax: 2048,
  /** Upstream groups per user: Entra ID sends 200 and links to the rest. No group name is longer. */
  upstreamGroupsMax: 1_000,
  upstreamGroupLengthMax: 255,
  /** Refresh tokens: idle lifetime, and total lifetime of a family, after which the user signs in again. */
  /** Of the console, whose page renews it while the user is there. */
  consoleTokenLifetimeMs: 10 * 60 * 1000,
  /** A second tab or a lost response repeats a renewal within this. */
  renewalRepeatMs: 30 * 1000,
  refreshTokenLifetimeMs: 14 * 24 * 60 * 60 * 1000,
  refreshFamilyLifetimeMs: 90 * 24 * 60 * 60 * 1000,
  /** Expired sign-ins deleted by each new one. */
  sweepRowsMax: 100,
  /** Rows that maintenance deletes per table before the next table's turn. */
  retentionRowsMax: 1_000,
  /** Maximum pause after a failed maintenance task. */
  maintenancePauseMaxMs: 24 * 60 * 60 * 1000,

  /** Lists that are unpaged in the public API (decisions: Lists); beyond it there is a next page, never a truncated response. */
  unpagedListMax: 100_000,
  /** A version 1 list: the public SDK accepts 100 MB. The same for all in progress, per organization and in total, and retry delay. */
  wholeListBytesMax: 96 * 1024 * 1024,
  wholeListsBytesEach: 96 * 1024 * 1024,
  wholeListsBytesMax: 256 * 1024 * 1024,
  wholeListsRetryMs: 2_000,
  /** Version 1 lists up to this size are sent at once: a thousand repositories have about 300 KB. */
  listAtOnceBytesMax: 1024 * 1024,

  /** OSV API request: a thousand queries have about 300 KB, and as much of page tokens. */
  osvQuestionBytesMax: 1024 * 1024,
  /** Queries per batch and records per page, as on osv.dev. */
  osvQueriesMax: 1_000,
  osvRecordsMax: 1_000,
  /** Records evaluated per OSV response, about 20 µs each; the rest follows with a page token. */
  osvCandidatesMax: 20_000,
  /** Bytes of records per OSV response, and of ranges and versions in memory for their evaluation. */
  osvAnswerBytes: 8 * 1024 * 1024,
  /** Ecosystems searched by a query without one. */
  osvEcosystemsMax: 100,
  /** Weight of a docs page in the request rate of an address, so that rendering takes at most some seconds a minute (1,200 pages). */
  docsPageRequests: 10,
  /** Weight of an OSV batch and of an archive among the requests of an address (openReadsPerMinute). */
  osvBatchRequests: 50,
  osvArchiveRequests: 600,
  /** Total size of prepared archives (OSV's has 1.2 GB). A replaced one stays until its readers finish. */
  archiveFilesBytesMax: 4 * 1024 * 1024 * 1024,
  archiveFilesMax: 256,
  /** Wait for an archive being prepared; after that it is streamed. */
  archiveWaitMs: 20_000,
  /** Interval of refresh checks, and time since the last reader during which archives are refreshed. */
  archiveLookMs: 30_000,
  archiveUnusedMs: 24 * 60 * 60 * 1000,
  /** A slow archive prepared without readers is not prepared again for four times as long: a fifth of a CPU. */
  archiveQuickMs: 2_000,
  /** Indexed bytes of an ecosystem and a name, next to an ID of feedIdLengthMax. */
  packageKeyBytesMax: 1_000,
  /** Rows of a document list read at once, about 300 bytes each. */
  documentPageRows: 5_000,
  /** Document signatures in memory, about 400 bytes each; computing one takes about a millisecond. */
  documentSignaturesMax: 5_000,
  /** Weight of a CSAF list or folder among the requests of an address. */
  csafListRequests: 20,
  /** Issuers whose documents are redistributed, by licence and label; documents examined per name. */
  csafIssuersMax: 5_000,
  /**
   * Facets that a filter may match by index ranges: a tenth of the time of reading the rows (measured at a million). Beyond it
   * all rows are walked.
   */
  facetsMax: 2_000,
  /** The shortest text that a trigram index supports. */
  trigramLength: 3,
  /** Results of a search, by default and at most, and resources that a path names at most. */
  searchResultsDefault: 20,
  searchResultsMax: 50,
  /** Names from the first of an organization on that a search reads before it uses the trigram index. */
  searchedFirstRows: 2_000,
  /** Names in a path to resolve. */
  pathNamesMax: 64,
  /** Days of one report on resolved vulnerabilities: ten years. Each day is one report. */
  reportDaysMax: 3_660,
  /** Vulnerabilities named in one request (resources: Advisory). */
  vulnerabilityIdsMax: 1_000,

  /** Branches of at most this many rows are sorted; larger ones use the order's index (docs/decisions). */
  sortRowsMax: 5_000,
  /** Rows searched in order for a frequent text before all matches are sorted: a tenth of a second. */
  nearRowsMax: 20_000,

  /** Events numbered at once. */
  numberedMax: 500,
  /** Deliveries and organizations per fan-out turn: 500 take about 30 ms, so a new organization waits for few turns (measured). */
  fanOutMax: 500,
  fanOutOrganizationsMax: 32,
  /** Timeout of a batch before it is halved: many times the usual duration. A single item has the statement timeout. */
  pieceTimeoutMs: 1_000,
  /** Pause of an item that failed alone: first, and maximum after doubling. */
  setAsideMs: 1_000,
  setAsideMaxMs: 60 * 60 * 1000,
  /** Items that one server sets aside in memory; events that the audit log skips. */
  setAsideEntriesMax: 1_000,
  /** Wait for an organization's event order before other organizations get their turn. */
  orderWaitMs: 250,
  /** Deliveries leased by one server. */
  claimedMax: 256,
  /** Per subscription: to a fast sink, and to one of unknown speed or failing. */
  claimedPerSubscriptionMax: 64,
  claimedPerUnprovenMax: 4,
  /** Pause of an organization whose outbound share was full, first and maximum; a slot is usually released earlier. */
  shareFullMs: 250,
  shareFullMaxMs: 4_000,
  /** To all sinks of unknown speed: slow ones leave half to the others. */
  claimedUnprovenMax: 128,
  /** A sink that responds within this time is fast; remembered fast sinks. */
  sinkQuickMs: 1000,
  quickSinksMax: 1_000,
  /** events, 8: timeout of a delivery, and the lease after which an attempt counts as lost. */
  deliveryTimeoutMs: 10_000,
  deliveryLeaseMs: 20_000,
  /** Polling interval for deliveries without work: a tenth of what users notice. */
  deliveryPollMs: 200,
  /** Interval at which a process without a probe checks for commits of other servers, and an idle server for due deliveries. */
  idleLookMs: 2_000,
  /** Interval of the same checks without a commit, for items that an error has set aside. */
  restLookMs: 10_000,
  /** Polling interval of gantry events tail. */
  tailPollMs: 500,
  /** Tolerated clock difference; interval of checks for deliveries delayed by a wrong clock, and sinks per check. */
  clockToleranceMs: 1_000,
  delayLookMs: 60_000,
  delayLookMax: 500,
  /** The token of a delivery (events, 6). */
  deliveryTokenLifetimeMs: 5 * 60 * 1000,
  /** A subscription is disabled after its sink has failed for this long. */
  sinkFailureMs: 5 * 24 * 60 * 60 * 1000,
  /** Default overlap of secrets; the contract has the maximum. */
  secretOverlapMs: 24 * 60 * 60 * 1000,
  /** Events per replay request. */
  replayMax: 10_000,
  /** Pending memberships that one page asks about, newest first. */
  organizationsAskedMax: 20,
  /** How long sign-ins ask about a pending membership; it remains pending afterwards. */
  organizationsAskedMs: 30 * 24 * 60 * 60 * 1000,
  /** Audit log: entries sealed at once, interval of checks, entries read per verification step, age of a verification that can continue. */
  sealedMax: 500,
  sealPollMs: 500,
  verifiedMax: 2_000,
  verifiedPartMs: 24 * 3_600_000,
  /**
   * Verification by the API: entries and time of one request, entries read and hashed at once (2 ms; an entry with 1,000 uids takes
   * 0.2 ms), and its queue: one request per organization at a time.
   */
  verifyStepMax: 10_000,
  verifyStepMs: 1_000,
  verifyStepBatch: 100,
  verifyStepPlaces: 2,
  verifyStepsWaiting: 64,
  verifyStepsWaitingEach: 8,
  verifyStepWaitMs: 20_000,
  exportedEntriesMax: 500,
  /** The longest path of an entry, 29 levels: index entries hold 2,704 bytes, including a subject. */
  auditPathLengthMax: 40 + 29 * 17,
  /** Denied calls recorded per minute: per identity, and for all unidentified callers. The rest is counted. */
  refusalsWindowMs: 60_000,
  refusalsPerCallerMax: 100,
  refusalsUnknownMax: 10,
  /** Denied calls written in one transaction. */
  refusalsWrittenMax: 500,
  /** Identities with separate counts of denied calls per minute; the rest share one. */
  refusalCallersMax: 1_000,
  /** Retention of the audit log: the year that auditors require, plus the current month. */
  auditMonths: 13,
  auditMonthsMax: 120,
  /** Additional months for entries that a target lacks: time for the operator to see the warning. */
  auditHeldMonths: 3,
  /** How long a target counts after it was last configured, and interval of recording that. */
  auditTargetSeenMs: 24 * 60 * 60 * 1000,
  auditTargetNoteMs: 60 * 60 * 1000,
  auditTargetsMax: 16,
  /** Audit targets: polling interval, entries and bytes per batch (many proxies accept a MiB), and timeout of a receiver. */
  auditSendPollMs: 1_000,
  auditBatchMax: 500,
  auditBatchBytes: 512 * 1024,
  auditSendMs: 30_000,
  /** Lease of a target, longer than a batch; it expires if the server dies. */
  auditTargetLeaseMs: 60_000,
  auditTargetPauseMaxMs: 5 * 60 * 1000,
  /** Lag of a target that is reported, and the interval of reports. */
  auditBehindMs: 60 * 60 * 1000,
  /** Retention of events for lists and replays, and of deliveries. */
  eventRetentionMs: 30 * 24 * 60 * 60 * 1000,
  deliveryRetentionMs: 7 * 24 * 60 * 60 * 1000,
  /** Maximum retention of undelivered events. A sink that refuses only one subject is never disabled. */
  undeliveredKeptMs: 400 * 24 * 60 * 60 * 1000,

  /**
   * Filters with several values of an indexed field merge ranges: always up to the first number, more while ranges times rows
   * stay below the second. Beyond it all rows are walked (measured at a million).
   */
  mergedRangesMax: 8,
  mergedRowsMax: 500_000,

  /** oci: 1. A manifest, held in memory; images have some KiB. */
  manifestBytesMax: 4 * 1024 * 1024,
  /** Image configuration, read for the platform. */
  imageConfigBytesMax: 4 * 1024 * 1024,
  /** Levels of indexes within indexes whose platforms and protection are known. */
  indexNestingMax: 8,
  /**
   * Immutable tag rules: of one repo or group, instructions of one pattern (compiling takes 2 µs for each), and steps of matching in one
   * request, in turns of `matchingStepsMax`.
   */
  immutableTagRulesEach: 50,
  immutableTagCostMax: 500,
  immutableTagStepsMax: 50_000_000,
  /** Manifests of one promotion, with referrers: each takes a few statements in one transaction. */
  promotedManifestsMax: 1_000,
  /** Tags of one push. */
  pushedTagsMax: 100,
  /** Names in a list of repositories: each has the names of its groups. */
  catalogNamesMax: 1_000,
  /** Names in a list of tags, and entries in a list of referrers. */
  tagNamesMax: 10_000,
  /**
   * Cached tag lists: minimum length, per organization, names (5 MB), and organizations. With more events than this without a
   * position, the cache is bypassed.
   */
  tagListKeptMin: 200,
  tagListsEach: 64,
  tagListNamesEach: 50_000,
  tagListOrganizations: 8,
  lastPositionWaitingMax: 100,
  referrersMax: 500,
  /** A client that neither sends nor receives blob data for this long counts as disconnected. */
  contentSilenceMs: 60_000,
  /** Bytes of one upload before others get their turn: with 2 MiB, eight pushes delayed a call by 20 ms. */
  contentTurnBytes: 64 * 1024,
  /** Lease of a blob without a manifest, renewed when a client learns that it exists: a slow push takes hours. */
  blobLeaseMs: 24 * 60 * 60 * 1000,
  /** Lease of an upload's writer, renewed while it appends. */
  uploadHoldMs: 30_000,
  /** An upload without writes for this long is deleted. */
  uploadKeptMs: 7 * 24 * 60 * 60 * 1000,
  /**
   * Content pushed to a path without a repository expires, unless the client pushes more or checks a blob (recorded once per
   * `pendingUseMs`). Paths per organization: a build of hundreds of images.
   */
  pendingKeptMs: 24 * 60 * 60 * 1000,
  pendingUseMs: 60 * 60 * 1000,
  pendingReposEach: 1000,
  /** Uploads hashed while they arrive, about 500 bytes each; others are hashed at the end. */
  uploadDigestsMax: 10_000,
  /** Paths that pushes have named, about 200 bytes each; others are looked up. */
  pushedReposKept: 10_000,
  /** After a push that fitted into the storage quota, a blob in a single request is read before the quota is checked. */
  quotaTrustedMs: 60_000,
  /** Lifetime of a registry token (oci: 4): clients request one for each repository, and renew it. */
  registryTokenLifetimeMs: 5 * 60 * 1000,
  /** Repositories in one registry token: with the longest usual uids it stays below 8 KiB, which proxies accept as a header. */
  registryTokenReposMax: 16,
  /** Platforms of images, kept by the digest of their config, and the length of one. */
  platformsKept: 10_000,
  platformLengthMax: 100,
  /** Pulls not yet recorded, about 500 bytes each; the interval of writes, and pulls per transaction. */
  waitingPullsMax: 20_000,
  pullsWrittenMs: 500,
  pullsWrittenMax: 500,
  /**
   * Counted pulls, by day, name and caller, about 300 bytes each: in memory, for one organization, the interval of writes, and rows per
   * statement. Pulls are kept as long as tag history.
   */
  pullRecordsMax: 50_000,
  pullRecordsEach: 10_000,
  pullRecordsMs: 2_000,
  pullRecordsWritten: 1_000,
  pullsKeptMs: 400 * 24 * 60 * 60 * 1000,
  /** Images in use: lifetimes of a report, and images of one organization, which pages of a retention run read. */
  inUseDefaultMs: 24 * 60 * 60 * 1000,
  inUseMaxMs: 30 * 24 * 60 * 60 * 1000,
  imagesInUseEach: 100_000,
  /**
   * Retention rules: rules of an organization, tags of a repo that are judged together (about 300 bytes each), tags deleted in one
   * transaction, repos looked at in one, interval of runs of an organization, and of the server's looking for due ones.
   */
  retentionRulesEach: 50,
  retentionMatchingSteps: 30_000_000,
  retentionPatternCostMax: 300,
  versionComparisonsMax: 4,
  retentionTagsMax: 100_000,
  retentionPieceTags: 200,
  retentionPieceRepos: 50,
  retentionRunMs: 6 * 60 * 60 * 1000,
  retentionLookMs: 60_000,
  runtimePullDays: 30,
  /** Tag history: a few weeks of a tag that moves with each build; otherwise a year and a month. */
  tagHistoryMax: 1000,
  tagHistoryKeptMs: 400 * 24 * 60 * 60 * 1000,
  /** Precision of a manifest's last use, below the shortest retention. */
  manifestUseMs: 12 * 60 * 60 * 1000,
  untaggedDaysMax: 3650,
  /** Manifests collected in one transaction, with their dependents. */
  collectedManifests: 50,
  /** Garbage collection: interval over all servers, and rows or contents per step. */
  collectionMs: 6 * 60 * 60 * 1000,
  collectionPageRows: 500,
  /**
   * Leftovers are deleted within an hour: interval of checks, and minimum age of content without a row. Longer writes are
   * registered (`blobWriteNamedMs`).
   */
  leftoversMs: 20 * 60 * 1000,
  unnamedKeptMs: 30 * 60 * 1000,
  /** Complete content may belong to a newer copy of the database and remains recoverable for this time. */
  completedKeptMs: 7 * 24 * 60 * 60 * 1000,
  blobWriteNamedMs: 10 * 60 * 1000,
  /** Bytes of a backup chunk before compression; a chunk is whole rows, at least one. */
  backupPieceBytes: 8 * 1024 * 1024,
  /** Size of a decompressed backup chunk: PostgreSQL's longest row is 1 GiB, plus a chunk. */
  backupPieceMaxBytes: 1024 * 1024 * 1024 + 16 * 1024 * 1024,
  /** A backup's metadata is read whole: about 500 bytes per table, 75 per broken blob. */
  backupTextMaxBytes: 4 * 1024 * 1024,
  /** Missing blobs before a backup aborts; more indicate a wrong location rather than a broken disk. */
  backupBrokenMax: 10_000,
  /** Wait for the lock of a backup or restore that was killed. */
  backupLockMs: 10_000,
  /** A backup without a heartbeat for this long counts as ended, and garbage collection resumes; it sends four in this time. */
  backupSilenceMs: 120_000,
  /** Manifests of up to 4 MiB held by verification. */
  verifiedManifestsMax: 16,
  /** Contents removed from the blob store together. */
  blobRemovalsMax: 100,
  /** Delay of a second removal, after which the transaction that left the content has committed. */
  blobRemovalAgainMs: 200,

  /**
   * Request groups: items (the longest lock files have 1,500), characters of a requirement, expansion and depth of POM
   * properties, request groups named by a list entry.
   */
  requestItemsMax: 2_000,
  requirementLengthMax: 1_024,
  propertyLengthMax: 256,
  propertyDepthMax: 10,
  contributingGroupsMax: 20,

  /** Idempotency keys: retention of a response, and the longest key, as common in the field. */
  idempotencyLifetimeMs: 24 * 60 * 60 * 1000,
  idempotencyKeyLengthMax: 255,

  /** MCP tool results are part of a conversation: entries and bytes per page, keys of a map, notes about omissions. */
  mcpItemsMax: 25,
  /** Operations that a tool search returns, with their schemas. */
  mcpOperationsMax: 5,
  /** A search compares each word with those of every operation, on the event loop. */
  mcpQueryLengthMax: 200,
  mcpResultBytesMax: 20_000,
  mcpKeysMax: 100,
  mcpNotesMax: 10,
  /** Cache lifetime of the tool list, which changes only with the server version. */
  mcpListLifetimeMs: 60 * 60 * 1000,

  /** Interval of repeated log events; groups in memory, of which the oldest is evicted. */
  logRepeatMs: 60_000,
  logKindsMax: 1_000,

  /** Metrics: minimum interval between renderings and between database reads, and their timeout. Prometheus waits ten seconds. */
  metricsKeptMs: 1_000,
  metricRowsKeptMs: 15_000,
  metricReadMs: 3_000,
  /** The total of all blob bytes is a sum over them: 0.2 s for a million. */
  metricTotalsKeptMs: 5 * 60 * 1000,
  /** Rows counted of a queue: 10,000 in 3 ms. */
  backlogRowsMax: 10_000,
  /** Connections to the private port: a few scrapers and a user. */
  privateConnectionsMax: 64,
  /** Minimum length of the metrics token; openssl rand -base64 24 makes 32 characters. */
  metricsTokenLengthMin: 24,
  /** Values per label, and their length: 700 operations with names of at most 85 characters. */
  metricLabelValuesMax: 1_000,
  metricLabelLengthMax: 128,
  /** Interval of event loop delay checks; five a second cost nothing measurable. */
  eventLoopLookMs: 200,

  // Traces (server/calls).
  /**
   * Default of GANTRY_TRACES_PER_SECOND: calls, as many again on request, and as many deliveries. A traced call's statements are
   * planned again (0.3 ms each).
   */
  tracesPerSecond: 20,
  tracesPerSecondMax: 1_000,
  /** Spans of one call; an import has thousands of statements. */
  tracePartsMax: 200,
  /** Length of a statement's text. */
  traceTextMax: 2_048,
  /** Spans queued for the collector, about 2 KiB each; the rest is dropped. */
  traceQueueSpans: 4_096,
  /** Spans per export request, and the longest batching delay. */
  traceBatchSpans: 512,
  traceBatchMs: 1_000,
  /** Timeout of an export. */
  traceExportMs: 10_000,
  /** Time for the final export during shutdown. */
  tracesCloseMs: 2_000,
} as const;

/**
 * Default quotas below one organization (gantry admin quota). An event creates a delivery per subscription above it, 500 in 30
 * ms. Two lists walk a request group's 2,000 items (15 µs each). SCIM fits 200,000 users and a group per ten (documents of 32
 * KiB: 7 GB); removed users remain as rows (475 bytes). The rest is what lists and permissions were measured with.
 */
export const organizationQuotas = {
  groups: 100_000,
  identities: 1_000_000,
  "overlay-bindings": 1_000_000,
  overlays: 100_000,
  repos: 1_000_000,
  "request-groups": 500,
  "role-bindings": 1_000_000,
  "scim-groups": 20_000,
  "scim-users": 200_000,
  subscriptions: 5_000,
} as const;

/**
 * Quotas of rows that are not resources. SCIM group members: five per 100,000 users, 25 per group, 750 bytes each (375 MB); one
 * statement of at most 15 s deletes a provider's. Pending memberships each ask a user; users vouched for by the provider or SCIM
 * do not count.
 */
export const rowQuotas = { "pending-memberships": 1_000, "scim-members": 500_000 } as const;

/** Default quota of blob bytes per organization: more than a disk holds. */
export const storageQuotas = { "blob-bytes": 100_000_000_000_000 } as const;

/**
 * Default requests per second to one server, per identity and per organization. A process handles about 15,000 (measured): an
 * eighth per identity, a third per organization.
 */
export const requestRates = {
  "identity-requests": 2_000,
  "organization-requests": 5_000,
  // Per identity provider over SCIM. Directories use a few connections; Entra ID requires 25 requests per second.
  "scim-writes": 100,
} as const;
