// Every number that bounds something, with its reason. Nothing elsewhere bounds by a number of its own.

import { clientLimits } from "./client-limits.ts";

export const limits = {
  /** requirement: Limits. */
  pageSizeDefault: 50,
  pageSizeMax: 200,
  pageTokenLifetimeMs: 3 * 24 * 60 * 60 * 1000,
  /**
   * A skip walks the rows that it skips, as a count does that it stands beside. From so many on the count comes first, and
   * where the list ends before, nothing is walked: a skip has no bound, and costs two counts at most.
   */
  countedSkipMin: 1_000,

  /** decisions: JSON. */
  bodyBytesMax: 1024 * 1024,
  /** decisions: One host; the default of the gRPC libraries. */
  grpcMessageBytesMax: 4 * 1024 * 1024,
  /** Nested JSON beyond this is an attack, not a resource: the deepest message of the contract has 5 levels. */
  jsonDepthMax: 32,
  /**
   * Keys and elements of one message together, counted over its bytes before anything is built from them: the longest list
   * of the contract holds 1,000 uids, and 10,000 values are read in some 5 ms.
   */
  messageValuesMax: 10_000,
  /** A message or form that anybody may send without a token: a token has 16 KiB at most, and some operations take two. */
  openBytesMax: 64 * 1024,
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
  /** An event keeps it for as long as it is kept itself; the longest of usual browsers and tools have 200 characters. */
  userAgentLengthMax: 256,

  /** Names that an organization's renames leave reserved: without a bound one organization could take every name of the server. */
  reservedNamesMax: 10,
  /** Problems of names that doctor lists of each kind. */
  nameProblemsMax: 50,

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
  /** Of them from one IPv4 address or one IPv6 /64, which is what one customer of a network is given. */
  connectionsPerAddress: 1_000,
  connectionsPerAddressMax: 1_000_000,
  /**
   * A request, its work and its answer together, however slowly its peer reads: the largest answer, a list of 100,000
   * without pages, takes a line of 1 Mbit/s so long.
   */
  exchangeTimeoutMs: 5 * 60 * 1000,
  /** How long a peer may take to hang up after our last word (GOAWAY, Connection: close); then it is cut. */
  hangUpMs: 5_000,
  /** Of a body that is not read: how long its peer may take the answer; so many such connections are kept. */
  unreadMs: 1_000,
  unreadMax: 128,
  /** How long a browser that was here over TLS asks in no other way: a year, as lists of such hosts want it. */
  hstsSeconds: 31_536_000,
  /** How often the files of the server's certificate are looked at: one that was renewed is in force after two looks. */
  certificateLookMs: 5_000,
  /** How long a call without a deadline of its own may run. */
  callDeadlineMs: 30_000,
  /** How long in-flight calls may finish after a stop was asked for. */
  drainMs: 10_000,
  /** How long a notice to systemd may take: its program waits until systemd has read it. */
  serviceNoticeMs: 10_000,
  /**
   * Workers (GANTRY_WORKERS): the most that may be asked for, whose 37 connections the embedded database has beside those of
   * commands; how often one tells the others what it has taken of a rate (a hundred messages a second cost some 2 ms of CPU time);
   * the pause before one that has ended is started again, twice as long each time up to the longest; and how long it must have run
   * for the next pause to be the first again.
   */
  workersMax: 8,
  siblingsTellMs: 10,
  workerPauseMs: 100,
  workerPauseMaxMs: 30_000,
  workerSteadyMs: 60_000,
  /** A second signal so soon after the first is the same one, come by another way. */
  signalEchoMs: 500,

  /** PostgreSQL: one statement; one idle transaction. A list that needs longer lacks an index. */
  statementTimeoutMs: 15_000,
  /** What an answer of PostgreSQL may take on our side: a statement's whole time and its way here. */
  databaseAnswerMs: 17_000,
  /** Whether the server is ready is said within this time: what load balancers wait, and many times what the database takes. */
  readinessMs: 5_000,
  /**
   * Hosts in DATABASE_URL; how often each is asked whether it is the primary, and how long it has for its answer: one that
   * swallows packets holds up nobody who asks another. Both together are well below the 5 s in which a new primary is to be found.
   */
  databaseHostsMax: 8,
  primaryLookMs: 1_000,
  hostAnswerMs: 2_000,
  /**
   * Lists from a replica: how far it may be behind, how long it is left alone after it failed, and how many organizations a list
   * may be of for their last events to be compared.
   */
  replicaLagMs: 10_000,
  replicaPauseMs: 10_000,
  replicaRootsMax: 4,
  /** A connection that is silent for so long is probed (TCP keepalive), ten times, a second apart. */
  keepAliveDelayMs: 10_000,
  /** What a stop takes: the database is closed under whatever is not done then, within so many more. */
  stopMs: 12_000,
  storeCloseMs: 2_000,
  /** Connections: reads are pipelined over few (measured: 2-4 best), group commit wants many writers. */
  readConnections: 3,
  writeConnections: 12,
  /** What a cheap read takes at most, before it goes with the wide ones: whoever is behind it waits no longer. */
  cheapReadTimeoutMs: 250,
  /** Rows of the pages that are being read over the connections of cheap reads, and of these of one organization: others are behind them. */
  pageRows: 8_192,
  pageRowsEach: 640,
  /** Statements of first pages that are kept for each table, and the longest selection whose statement is. */
  keptStatementsMax: 200,
  keptStatementKeyMax: 1_000,
  /**
   * Wide reads (counts, skips, filters without an index): connections, and of these for one organization. Each keeps a core
   * busy. What was quicker than this goes with the cheap ones for a while.
   */
  wideReadConnections: 4,
  wideReadsEach: 2,
  wideReadsAlone: 3,
  wideReadsWaiting: 1_024,
  wideReadsWaitingEach: 64,
  quickStatementMs: 2,
  statementCostLifetimeMs: 60_000,
  /** Statements of one organization (27 bytes each), organizations, and values of a list that may be among them. */
  statementsEachMax: 256,
  statementOrganizationsMax: 2_000,
  quickValuesMax: 32,
  /** Transactions of one organization, the same while no other one writes, and who waits for one: a few hundredths of a second. */
  writesEach: 6,
  writesAlone: 11,
  writesWaiting: 2_048,
  writesWaitingEach: 512,
  /**
   * Calls of callers with a token: under way, waiting, and of these of one organization, for each kind (gets, lists, changes).
   * Gets take 20 µs each (measured), so that 32 of them hold up others by less than a millisecond; lists and changes have
   * turns of their own in the store, and these hold those that wait there.
   */
  callsUnderWay: 4_096,
  getsEach: 32,
  listsEach: 96,
  changesEach: 224,
  /** Calls that take content (a blob, a manifest), which last as long as their senders take: those of a hundred pushes at once. */
  uploadsEach: 512,
  /**
   * Files that are made while they are sent (archives, lists of all records), which hold some megabytes and their turn until
   * their end: as many as a scanner's mirror fetches side by side, and for so many organizations at once.
   */
  filesEach: 4,
  filesUnderWay: 64,
  callsWaiting: 8_192,
  callsWaitingEach: 1_024,
  /**
   * Refusals of one organization, or of one client address whose caller nobody knows: beyond these answers come a little
   * later. So many organizations and addresses in memory (200 bytes each), so many answers that wait.
   */
  refusalsBurst: 1_000,
  refusalsPerSecond: 300,
  refusalDelayMs: 1_000,
  refusalKeysMax: 20_000,
  delayedRefusalsMax: 10_000,
  /** How long a call waits for its turn: below its own deadline, so that it is told why. */
  turnWaitMs: 10_000,
  /** Rows that are asked for together: more would hold up the first of them. */
  batchLoadRowsMax: 32,
  /** Tries of a transaction that lost a serialization race or a deadlock. */
  transactionTriesMax: 5,

  /** Our access tokens. requirement: "up to an hour". */
  accessTokenLifetimeMs: 60 * 60 * 1000,
  /** How long a key signs before the next one takes over; how often a server looks for what is due. */
  signingKeyLifetimeMs: 90 * 24 * 60 * 60 * 1000,
  maintenanceMs: 60 * 60 * 1000,
  /**
   * Memory after the start and after a flood: how often a server looks until it first is calm and later, below which use of
   * its event loop it is calm (a pause of 50 ms is then felt by hardly anybody), and how much more than when it last was calm
   * is worth that.
   */
  memoryStartLookMs: 1_000,
  memoryLookMs: 10_000,
  calmUtilization: 0.15,
  memoryGrowthMax: 1.25,
  /** Memory of a command that imports: how often it looks, and how much more than at its start is collected. */
  bulkLookMs: 50,
  bulkGrowthBytes: 80_000_000,
  /** Longest token text that is looked at. */
  tokenBytesMax: 16 * 1024,
  /** Verified tokens held in memory. */
  tokenCacheEntries: 20_000,
  /** Callers whose rights are held in memory (each checked against the store's version by every request). */
  rightsCacheEntries: 20_000,
  /** Sessions of one person that are known not to be revoked, beside the rights in memory. */
  liveSessionsMax: 1_000,
  /** Difference of clocks that token times may have. */
  clockSkewMs: 60_000,

  /** Outbound: discovery and keys. */
  outboundTimeoutMs: 5_000,
  outboundBytesMax: 512 * 1024,
  /**
   * Of it, until a connection stands: looking up the name, and trying its first addresses in turn. Less than the whole, so
   * that a host that is silent can be told from one that answers slowly.
   */
  outboundConnectMs: 3_500,
  outboundAddressesMax: 4,
  nameTimeoutMs: 3_000,
  nameTryMs: 1_000,
  nameTriesMax: 2,
  /** Exchanges with others at a time for each purpose, and of these for one organization (or host, where none is known). */
  issuerFetchesMax: 64,
  issuerFetchesEachMax: 16,
  sinkFetchesMax: 512,
  sinkFetchesEachMax: 192,
  feedFetchesMax: 16,
  feedFetchesEachMax: 8,
  /** What clients of sign-ins say of themselves: small documents, fetched for strangers, so few at a time. */
  clientFetchesMax: 32,
  clientFetchesEachMax: 2,
  /** What sends the audit log to the operator's targets: a batch of each at a time. */
  auditFetchesMax: 64,
  auditFetchesEachMax: 64,
  issuerCacheEntries: 1_000,
  /** Key sets in memory, for each organization that names issuers: KiB, a usual one has 2 to 5. And so many organizations. */
  issuerShareKiB: 256,
  issuerPartiesMax: 1_000,
  /** Issuers that failed, remembered for each organization. */
  issuerFailuresMax: 200,
  /** Issuers that strangers name by a pattern and that were never reached: so many are tried for one organization in issuerRetryMs. */
  issuerTriesMax: 20,
  issuerKeysLifetimeMs: 10 * 60 * 1000,
  /** An unknown kid asks the issuer again at most this often. */
  issuerRetryMs: 30_000,
  /** One that failed is left alone for that long, then for twice as long each time, up to this: it is found again soon. */
  issuerPauseMaxMs: 2 * 60 * 1000,
  /** Hosts in memory that could not be connected to, for each organization. */
  silentHostsMax: 200,

  /**
   * What one client address (an IPv4 address or an IPv6 /64) may do in a minute without being known, in each server; a
   * bucket holds a minute's worth. A company behind one address is the measure: a thousand jobs that exchange a token in
   * the same moment and refresh it later; people who sign in as their day begins; three hundred terminals that wait for
   * a headless sign-in and ask every 2 s; scanners in each job that fetch the open feed; machines that go on with a
   * refresh token that has ended. A person mistypes a code once or twice.
   */
  exchangesPerMinute: 6_000,
  signInsPerMinute: 600,
  deviceAuthorizationsPerMinute: 60,
  openReadsPerMinute: 12_000,
  refusedRefreshTokensPerMinute: 300,
  wrongUserCodesPerMinute: 10,
  /** Documents of clients that an address has us fetch; a company's people use some dozens, each fetched once in a while. */
  clientDocumentsPerMinute: 30,
  /** Addresses in memory for each of these, some 200 bytes each. */
  clientAddressesMax: 20_000,
  /** How often the rows of all addresses together are counted, which takes up to 20 ms where there are many. */
  openRowsCountMs: 1_000,

  /** authentication.md: 6. A signed AWS request: how old it may be, how far ahead of our clock. */
  awsRequestAgeMs: 15 * 60 * 1000,
  awsRequestAheadMs: 5 * 60 * 1000,
  /** Questions to AWS at a time: each takes its answer's time, and nobody knows yet whether it was worth it. */
  awsCallsMax: 16,
  /** The answer of GetCallerIdentity has some 500 bytes. */
  awsAnswerBytesMax: 16 * 1024,
  /** Claim patterns that are tried with strangers' values (attack 27): more than these are taken to tell apart, unseen. */
  widthPatternsMax: 32,
  /** One person may ask to be let into one organization this often. */
  accessRequestMs: 24 * 60 * 60 * 1000,

  /**
   * Scheduled feeds: how often a server looks for what is due, how long a turn is held without a sign of life (longer than
   * a fetch), the first wait after a failure.
   */
  feedLookMs: 15_000,
  feedLeaseMs: 15 * 60 * 1000,
  feedRetryMs: 60 * 1000,
  /**
   * What an import may remove (docs/decisions/0071): a run is compared with the largest count of these days; a drop by more than
   * this share and at least so many records, in one run or within feedDropDays, waits for the flag or for the same result
   * over feedHoldMs.
   */
  feedBaselineDays: 30,
  feedDropDays: 7,
  feedDropShare: 0.1,
  feedDropRecordsMin: 5,
  feedHoldMs: 72 * 60 * 60 * 1000,
  /** How long after its last success a source is stale (docs/decisions/0074), unless the operator or the feed says otherwise. */
  feedStaleMs: 72 * 60 * 60 * 1000,
  /** The same as an operator may set it, in hours: ten years. */
  feedStaleHoursMax: 87_600,
  /** Ecosystems of one image: further ones count as one that no source judges. SBOMs are written by others. */
  imageEcosystemsMax: 100,
  /** Images and ecosystems that a coverage statement names; it counts the rest. */
  unjudgedShownMax: 100,
  /** Rows of coverage that are judged at once: ecosystems of groups. */
  coverageRowsMax: 20_000,
  /** Names of release files that a source no longer has, as the API lists them. */
  feedAbsentFilesMax: 100,
  /**
   * A feed's address: its whole answer (OSV's archive of everything has more than a gigabyte), which goes to a temporary
   * file, and the longest silence within it. The disk keeps so much for others. An answer that is no file is short.
   */
  feedFetchMs: 60 * 60 * 1000,
  feedIdleMs: 60 * 1000,
  feedSpaceLeftBytes: 512 * 1024 * 1024,
  feedRedirectsMax: 3,
  /**
   * Blobs in files: so many append at the same moment, each with two buffers, for so many bytes and no longer than their
   * client keeps sending (4 MiB of buffers in all, whoever is there); how often the disk is looked at and told to write; what
   * stays free of it, since a database without space stops. A pull reads so much at a time, less where there are many.
   */
  blobWriteTurns: 8,
  blobWriteBytes: 256 * 1024,
  blobTurnBytes: 2 * 1024 * 1024,
  blobTurnIdleMs: 20,
  blobSpaceLookBytes: 64 * 1024 * 1024,
  blobSyncBytes: 16 * 1024 * 1024,
  blobSpaceLeftBytes: 512 * 1024 * 1024,
  blobReadBytes: 256 * 1024,
  blobReadsLarge: 8,
  blobReadBytesMin: 32 * 1024,
  /** So many bytes pass between two looks at the buffers that they left; so many may have grown old (a pause of some 20 ms). */
  blobYoungBytes: 8 * 1024 * 1024,
  blobOldBytes: 16 * 1024 * 1024,
  /**
   * Blobs in S3: no part but the last may be smaller, and 10,000 must do for the largest object, 5 TiB. Parts of a 512th of
   * what came before them are some 4,200; with the rests of appends, of a 1,024th at least, they stay below the number.
   */
  s3PartBytesMin: 5 * 1024 * 1024,
  s3PartBytes: 8 * 1024 * 1024,
  s3PartGrowth: 512,
  s3RestGrowth: 1_024,
  s3TriesMax: 4,
  s3ConnectMs: 5_000,
  s3IdleMs: 60_000,
  s3ConnectionsMax: 64,
  /** Documents and pages that one address may lead to: the largest CSAF provider has some 40,000. */
  feedLinksMax: 200_000,
  /**
   * Beside a document: a hash has 200 bytes, a signature a kilobyte; a public key with many identities has some hundred. Of a
   * provider so many keys count, and of a security.txt so many addresses. A folder in which so many in a row have nothing
   * beside them has nothing.
   */
  feedCheckBytesMax: 64 * 1024,
  feedKeyBytesMax: 1024 * 1024,
  feedSigningKeysMax: 20,
  feedProvidersMax: 5,
  feedUncheckedMax: 10,
  /** Pages of the NVD's API, 2,000 records each. */
  feedPagesMax: 1_000,
  /** NVD: five requests in 30 s of who has no key, and fifty of who has one. */
  nvdPauseMs: 6_000,
  nvdKeyPauseMs: 600,
  /** A page of a host that is busy: how often it is asked for, and how long after. */
  feedPageTriesMax: 3,
  feedPageRetryMs: 6_000,
  /**
   * Of an API that tells what has changed: how often all is read all the same (less than the NVD's 120 days, which it tells
   * at most), and how far what is asked for reaches back behind what is known: what is late by so much is found.
   */
  feedFullMs: 30 * 24 * 60 * 60 * 1000,
  feedOverlapMs: 6 * 60 * 60 * 1000,
  /** One file of a registry's folder, held in memory while it is read. */
  feedFileBytesMax: 64 * 1024 * 1024,
  /** A document of a feed, unpacked, held while it is read; the largest known (a CSAF document) has 12 MiB. */
  feedDocumentBytesMax: 32 * 1024 * 1024,
  /** JSON Lines are read line by line: only one line is held. The whole, unpacked, ends somewhere all the same. */
  feedLineBytesMax: 8 * 1024 * 1024,
  feedSourceBytesMax: 8 * 1024 * 1024 * 1024,
  /**
   * A zip archive, by its directory: OSV's archive of everything has 1.8 million entries. What is packed so tightly that it
   * unpacks to a gigabyte and to fifty times its size is no text: these shrink to a tenth.
   */
  feedArchiveEntriesMax: 5_000_000,
  feedArchiveUnpackedBytesMax: 1024 * 1024 * 1024,
  feedArchiveGrowthMax: 50,
  /** Of an archive of more entries, some hundred are remembered together: by the checksums in its directory, and in memory as one. */
  feedArchiveFilesMax: 10_000,
  feedBundleEntries: 128,
  feedBundleEntriesMax: 512,
  /** Read by the whole language a text takes a hundred times its size and 1 s a megabyte; the largest known is 120 KiB. */
  feedYamlLengthMax: 2 * 1024 * 1024,
  /** CSAF lets branches of products nest 30 deep, each of them two levels of JSON. */
  feedDepthMax: 100,
  feedXmlLengthMax: 8 * 1024 * 1024,
  feedYamlAliasesMax: 100,
  feedYamlValuesMax: 500_000,
  /** An advisory's note is a few lines; the longest known description of a CVE has 40 KiB. */
  feedProseLengthMax: 256 * 1024,
  /** Names are in indexes, whose entries hold 2,704 bytes; lists of paths in componentLocation have 483 characters. */
  feedNameLengthMax: 2_000,
  feedIdLengthMax: 512,
  /** A version or an expression of versions that is compared; the longest real ones (pre-releases named after branches) have some 100. */
  versionLengthMax: 512,
  /** Events of one record that are evaluated for one version; the largest real records have some 500. */
  rangeEventsMax: 10_000,
  /** CVE allows 2,048 characters. */
  feedUrlLengthMax: 8 * 1024,
  /** A product's lifecycle: the longest real one has some 80 releases and as many names; an answer of version 1 gives all of them. */
  lifecycleReleasesMax: 2_000,
  lifecycleNamesMax: 500,
  lifecycleGraceMonthsMax: 120,
  /** Groups whose lifecycles of one product are compared for one answer, some 10 kB each. */
  lifecyclesComparedMax: 200,
  /** Packages that are looked at for a page of tags whose names say no version; of each image one or a few have a product's name. */
  lifecyclePackagesMax: 20_000,
  /** One transaction of an import, one part of JSON Lines: large enough for bulk, small enough to be done again. */
  feedBatchRecords: 500,
  feedBatchBytes: 512 * 1024,
  feedBatchFiles: 256,
  /** Documents that are read again together, because another source has stopped telling their records: compressed, to a fifth or so. */
  feedAgainBytes: 128 * 1024,
  feedPartLines: 500,
  feedPartBytes: 256 * 1024,
  /** Without a terminal an import tells so often how far it is. */
  progressLineMs: 5_000,
  /** Refusals that a summary names. */
  feedRefusalsMax: 10_000,
  /** So much of a file tells what it is. */
  feedHeadLength: 16 * 1024,
  /** Files that are looked up together, and the entries of archives in them, each of which holds a kilobyte. */
  feedChunkFiles: 64,
  feedChunkDocuments: 512,
  feedChunkBytes: 4 * 1024 * 1024,
  /** Documents that are read together to judge versions by them: an OSV record has 4 KiB, the largest some MiB. */
  matchedDocuments: 100,
  /**
   * An SBOM that was pushed: its bytes unpacked, its packages, and the time that a thread of its own has for it. Its
   * values are what 200,000 packages with everything that tools write about them have; so many take 700 MB while they are read.
   */
  sbomBytesMax: 64 * 1024 * 1024,
  sbomPackagesMax: 200_000,
  sbomReadMs: 30_000,
  sbomValuesMax: 8_000_000,
  sbomMemoryMb: 1024,
  /**
   * How often a server looks for them, how long it may hold one (to be fetched and read), how long after
   * a failure it is tried again, at first and at most, and how often in all; and organizations that it remembers to have served.
   */
  sbomLookMs: 2_000,
  /** Documents of one manifest, or manifests of one index, that are looked at. */
  sbomsOfManifestMax: 100,
  sbomHoldMs: 5 * 60 * 1000,
  sbomRetryMs: 10_000,
  sbomRetryMaxMs: 60 * 60 * 1000,
  sbomTriesMax: 20,
  sbomServedMax: 1_000,
  /**
   * An SBOM that version 1 shows, in one message: its bytes unpacked, with the largest real ones at some 5 MB. One at a time on a server,
   * in a thread with a time and a memory of its own; what waits, of one organization and in all, and for how long.
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
   * A pushed chart that version 1 shows. Helm itself refuses archives of more than 100 MiB unpacked and files of more than 5 MiB; the
   * largest known has 2 MiB packed. Read in a thread with a time and a memory of its own; the waiting is that of SBOMs.
   */
  chartBytesMax: 20 * 1024 * 1024,
  chartFileBytesMax: 4 * 1024 * 1024,
  chartEntriesMax: 10_000,
  chartReadMs: 10_000,
  chartMemoryMb: 512,
  shownChartsWaiting: 64,
  shownChartsWaitingEach: 16,
  shownChartsWaitMs: 20_000,
  /** Of a chart's configuration, and of its list of images: one image takes about 100 characters. */
  chartConfigBytesMax: 256 * 1024,
  chartImagesLengthMax: 64 * 1024,
  /** Repos with charts, of one organization, of which the latest is read for one response. */
  chartReposMax: 200,
  /** Images of one question for their packages, and packages of its answer: what clients take in one message, of 300 bytes each. */
  manifestMetadataItemsMax: 200,
  manifestMetadataPackagesMax: 200_000,
  /** A report of a scanner is read as an SBOM is. Findings of one: a large image has some thousand. */
  reportFindingsMax: 100_000,
  /** Of a report as it came: it is sent as one text, which JSON makes up to twice as long, and clients take 100 MB. */
  reportBytesMax: 32 * 1024 * 1024,
  /** Reports on one image that are kept: two of each day for as long as they are kept at all. The oldest go first. */
  reportsOfImageMax: 800,
  /** Repos whose images get reports of our own together. */
  ownReportRepos: 100,
  /**
   * What reports say that one call counts, as JSON: a vulnerability has some 25 bytes, and takes five times as much while it is counted.
   * A year of daily reports of two scanners with 800 vulnerabilities each has so many.
   */
  countedReportsBytesMax: 16 * 1024 * 1024,
  /** Reports that are read together for a list: with all that they found one may have some MiB. */
  reportsRead: 10,
  /** Reports that a later one of their scanner has replaced, and matches that are resolved: a year and a month, to compare with a year ago. */
  reportKeptMs: 400 * 24 * 60 * 60 * 1000,
  /** Tags of one transaction that ends them or looks whether they still end, and how often a server looks for such. */
  endedTagsMax: 200,
  tagEndsMs: 60_000,
  /** Matching of images, in pieces: packages whose advisories are read together, images, rows of one statement, and changes. */
  matchedNames: 200,
  matchedImages: 500,
  matchedRows: 5_000,
  matchedChanges: 50_000,
  /** Images that an event of affected images names; the rest is counted (requirement: 1,000 digests). */
  toldDigestsMax: 1000,
  /** Events of one authored advisory: all of them are read with each change. */
  authoredEventsMax: 1000,
  /** Advisories of other sources that the approval of a false positive notes; what is beyond is not suppressed. */
  suppressedAdvisoriesMax: 10_000,

  /**
   * A readme (attack 35): lines, levels of lists and quotes, cells in a row, brackets in brackets, runs of backticks and nested parentheses
   * (parsers of Markdown end at 32, or do not, and so disagree beyond), and how much its HTML may be larger than the text:
   * for each character, and beside. Ordinary HTML is twice the text.
   */
  readmeLinesMax: 20_000,
  readmeDepthMax: 100,
  readmeCellsMax: 2_000,
  readmeBracketsMax: 100,
  readmeRunMax: 32,
  readmeGrowthMax: 3,
  readmeGrowthSlack: 64 * 1024,
  /** Its judgement in another thread takes 0.2 s at worst (measured), alone; how long, with how much memory, and how many wait. */
  readmeJudgeMs: 2_000,
  readmeMemoryMb: 256,
  readmesWaitingMax: 32,

  /**
   * Patterns of users. The documented ones are below 100 characters, a list of 20 repositories below the first number; so
   * long is a class that lists letters by hand. Costs are counted in instructions of the program, 2 to 4 µs each (measured):
   * 3,000 hold one `.{1,1000}` and the longest pattern of literals, and an identity has a few of these.
   */
  patternLengthMax: 1024,
  patternClassLengthMax: 256,
  patternDepthMax: 32,
  patternCostMax: 3_000,
  identityPatternsCostMax: 8_000,
  /**
   * Matching, in one request: program times text, 100 ns a step at worst. The exchange of a token holds 200 groups of 40
   * characters against one pattern of 50; whether strangers fit (attack 27) is only told. A text that is longer than a
   * literal may be matches nothing.
   */
  matchedLengthMax: 1024,
  matchingStepsMax: 500_000,
  widthStepsMax: 100_000,

  /** Role bindings that one reason names (contract: CapabilityReason); a person reads no more. */
  reasonGrantsMax: 25,
  /**
   * Rows that one deletion takes along and tells of. Each is an event in the same transaction: ten thousand take about
   * two seconds, well below the time that a statement may take.
   */
  deletedRowsMax: 10_000,
  /**
   * Kept rows that one statement brings back or removes, 0.1 s and less: how many rows that are not told a deletion takes is bounded by
   * the time of its statements alone, and whatever it has taken must come back.
   */
  keptRowsPage: 2_000,
  /** For so many days what was deleted can be brought back: what nobody misses in a month is not missed. */
  deletedDays: 30,
  /** What the operator may set: longer is what backups are for. */
  deletedDaysMax: 365,
  /** Of what an undelete leaves out it names so many; the rest it counts. */
  leftOutMax: 100,
  /** Of what comes back so many are looked at together: each costs two or three statements, sent without waiting for each. */
  returningBatchMax: 200,
  /** AIP-233 and the public platform: bindings of one batch. */
  batchMax: 25,

  /** What the operator may set: beyond it nothing was measured. */
  organizationQuotaMax: 1_000_000_000,
  storageQuotaMax: 900_000_000_000_000,
  /** Requests a second that the operator may set: more than any process answers. Whoever waited may catch up for ten seconds: jobs begin together. */
  requestRateMax: 1_000_000,
  requestBurstSeconds: 10,
  /** Buckets in memory for each kind, some 150 bytes each. */
  requestBucketsMax: 20_000,
  /** How long after a change other rates hold, and how many that were set are read. */
  ratesReadMs: 10_000,
  setRatesMax: 10_000,
  /** resources: SCIM tokens. Two years on any calendar hold one leap day. */
  scimTokenLifetimeMs: 365 * 24 * 60 * 60 * 1000,
  scimTokenLifetimeMaxMs: (2 * 365 + 1) * 24 * 60 * 60 * 1000,
  scimOverlapMs: 60 * 60 * 1000,
  scimOverlapMaxMs: 24 * 60 * 60 * 1000,
  /** The body of a SCIM request: a group of some 3,000 members at once. */
  scimBodyBytesMax: 256 * 1024,
  /**
   * What is kept of a user or a group, and what one PATCH says of its attributes: profiles have some 3 KiB. Names of one object and values of
   * one attribute: a PATCH looks through them for each name that it gives, so without a bound 80 KiB cost half a minute of everybody's time.
   */
  scimDocumentBytesMax: 32 * 1024,
  scimNamesMax: 200,
  scimValuesMax: 200,
  /** RFC 7644, 3.4.2.4: users of one answer, where the client says nothing and at most; Entra ID and Okta ask for 100 and 200. */
  scimPageSize: 100,
  scimPageMax: 500,
  /** Documents of one list: 500 of 16 KB; with larger ones it has fewer results, and at least one. Names of attributes that one request asks for. */
  scimListBytesMax: 8 * 1024 * 1024,
  scimShownNamesMax: 200,
  /** Terms of one filter, and brackets inside each other: clients send one or two. */
  scimFilterTermsMax: 50,
  scimFilterDepthMax: 10,
  /** Members, or groups of users, that one answer shows; a list ends before. Larger groups are read by their users (`members.value eq`). */
  scimMembersMax: 10_000,
  /** Ids of users that the event of a group's change names. */
  scimToldMembersMax: 100,
  /** Operations of one PATCH. */
  scimOperationsMax: 1_000,
  /** Characters of userName, displayName and an e-mail address, which are in indexes of at most 2,700 bytes; addresses of one user that are looked for. */
  scimNameLengthMax: 512,
  scimEmailsMax: 50,
  /**
   * For how long rights from the groups of a sign-in are given to others, ahead: whether the giver is still in them nobody asks
   * until the next sign-in, and who was taken out of them must not stay by what she gave herself in other hands.
   */
  sessionGiftMs: 30 * 24 * 60 * 60 * 1000,
  /** An invite's code lies in mailboxes: it should not outlive the reason for which it was sent. */
  inviteLifetimeMs: 30 * 24 * 60 * 60 * 1000,
  /** OpenID Connect Core, 2: the longest subject; it is in an index. RFC 5321: the longest address. */
  subjectLengthMax: 255,
  emailLengthMax: 320,
  /** A name or the address of a picture, as an issuer tells it. */
  profileLengthMax: 2048,
  /** A static key set lives at most (and by default) this long. */
  staticKeysLifetimeMs: 365 * 24 * 60 * 60 * 1000,

  /**
   * Codes that a terminal shows and a browser confirms (RFC 8628): how long one is good, and how often its terminal
   * asks, from then on slower by the step that section 3.5 names. Clocks and networks may shorten an interval a bit.
   */
  deviceCodeLifetimeMs: 15 * 60 * 1000,
  devicePollEarlyMs: 1_000,
  /** Slower than this no terminal has to ask. */
  devicePollIntervalMaxMs: 60_000,
  /**
   * Open codes, a row of 1 KB each: of one client address, and, as a last resort, of all together. Whoever signs in needs a
   * minute or two, so that at the rate of one address some hundred are open; a hundred thousand rows are 100 MB.
   */
  deviceCodesPerAddressMax: 300,
  deviceCodesMax: 100_000,
  /** How long it is still said of a code that it has ended. */
  deviceCodeKeptMs: 60 * 60 * 1000,
  /** Text that a client says about itself on the page that confirms. */
  deviceClientLengthMax: 64,
  /**
   * Wrong codes that all people together type in a minute before new codes grow (user-code.ts has the arithmetic), for how
   * long they stay longer after that, and how often one server writes down what it has counted: who guesses costs no
   * more than one row written in that time.
   */
  userCodeGuessesMax: 600,
  userCodeGuessesWindowMs: 60_000,
  userCodesLongerMs: 60 * 60 * 1000,
  userCodeGuessesWriteMs: 1_000,
  /** The cookie of the pages that confirm: a page made with it can be used for as long as a code is good. */
  confirmCookieLifetimeMs: 60 * 60 * 1000,
  /** A finished headless sign-in waits this long for its client, which asks this often. */
  headlessSessionLifetimeMs: 5 * 60 * 1000,
  /** Waiting ones, 3 KB each: of one client address (people of one company who sign in within these minutes), and in all. */
  headlessSessionsPerAddressMax: 1_000,
  headlessSessionsMax: 50_000,
  headlessPollIntervalMs: 2_000,
  /** `gantry login`: one question to the server; a last page for the browser before the program ends. */
  signInAskTimeoutMs: 15_000,
  signInLastPageMs: 1_000,
  /**
   * Of its token that another program is given: a large push asks for registry tokens with it until it is done. One program
   * renews at a time, with two questions; how long its lock is believed, how often the others look, and what a client of the
   * registry waits in all.
   */
  registryTokenLeftMs: 30 * 60 * 1000,
  sessionTokenLeftMs: 60 * 1000,
  sessionLockMs: 40_000,
  sessionLockLookMs: 50,
  ...clientLimits,
  credentialHelperMs: 60_000,
  /** Characters of uids in one address: Node takes 16 KiB of headers with it, and proxies often 8. */
  uidsInAddressLengthMax: 6_000,
  /** What a command reads of a file for a request: more than the server takes, so that it is the server that says no. */
  requestFileBytesMax: 8 * 1024 * 1024,
  /** What takes longer shows how far it is. */
  progressAfterMs: 1_000,
  /** The longest time limit that a command takes. */
  longestWaitMs: 24 * 60 * 60 * 1000,
  /** All that one command asks of a server. */
  callsOfCommandMs: 2 * 60 * 1000,
  /** docker's config.json and podman's auth.json: a line for each registry. */
  registryFileBytesMax: 1024 * 1024,
  /** The user's contexts: some 200 bytes each. How long one program waits for another that changes them, longer than its lock is believed. */
  contextFileBytesMax: 256 * 1024,
  contextFileLockMs: 45_000,
  /** `gantry login --identity-token -`, and the files that hold tokens. */
  identityTokenBytesMax: 16 * 1024,
  /** What `gantry whoami` shows in one line: a uid of the deepest group, an address, a path. */
  whoamiTextLengthMax: 1_000,

  /**
   * The document behind a client's id (Client ID Metadata Documents): the draft's own bound is 5 KB; logos and texts in many
   * languages make some longer. How long one is believed, and how long it is not asked for again where it was wrong; KiB in memory
   * for each address that named them, and such addresses.
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
   * From the end of a sign-in until its client has come with the code: one request behind a redirect (RFC 6749, 4.1.2, allows ten
   * minutes). Codes that wait, 2 KB each: of one client address (a company whose day begins), and in all.
   */
  authorizationCodeLifetimeMs: 60 * 1000,
  authorizationCodesPerAddressMax: 1_000,
  authorizationCodesMax: 50_000,
  /** The text that a client gives along and gets back; it is in an address. */
  authorizationStateLengthMax: 1024,

  /** A person at a provider's page: passwords are looked up, second factors fetched. */
  signInLifetimeMs: 10 * 60 * 1000,
  /** The page before tokens go to a port: short, because another program can take the port meanwhile. */
  loopbackQuestionLifetimeMs: 2 * 60 * 1000,
  /** Of these begun and not ended, 2 KB each: of one client address (a company whose day begins), and in all. */
  signInsPerAddressMax: 3_000,
  signInsMax: 200_000,
  /** Identity providers to choose from on one page; whoever has more of them names the one. */
  offeredProvidersMax: 8,
  /** What a page shows of a name that somebody else chose. */
  shownNameLengthMax: 80,
  /** Longest address that a sign-in may end at; with tokens in it, it must fit into a request line. */
  redirectLengthMax: 2048,
  /** Groups of a person that are looked at; Entra ID tells 200 and points elsewhere for more, and no name is longer. */
  upstreamGroupsMax: 1_000,
  upstreamGroupLengthMax: 255,
  /** A refresh token that nobody uses; a family of them, however often used: then the person signs in anew. */
  refreshTokenLifetimeMs: 14 * 24 * 60 * 60 * 1000,
  refreshFamilyLifetimeMs: 90 * 24 * 60 * 60 * 1000,
  /** Ended sign-ins that each new one clears away. */
  sweepRowsMax: 100,
  /** Rows that maintenance deletes of a table before it is the next one's turn. */
  retentionRowsMax: 1_000,
  /** A part of maintenance that fails is left aside for at most this long. */
  maintenancePauseMaxMs: 24 * 60 * 60 * 1000,

  /**
   * What an existing client gets of a list that has no page fields in public (decisions: Lists): everything, as long as
   * one answer can hold it. Beyond it there is a next page, never a short answer.
   */
  unpagedListMax: 100_000,
  /**
   * Bytes of one list of version 1: the public SDK takes messages of 100 MB. And of all such lists that are being made or sent,
   * of one organization and in all: beyond these the next one waits for its turn to ask again.
   */
  wholeListBytesMax: 96 * 1024 * 1024,
  wholeListsBytesEach: 96 * 1024 * 1024,
  wholeListsBytesMax: 256 * 1024 * 1024,
  wholeListsRetryMs: 2_000,
  /** A list of version 1 that is no longer is sent at once, as a page of version 2 is: a thousand repos have some 300 KB. */
  listAtOnceBytesMax: 1024 * 1024,

  /** A question of OSV's API: a thousand queries by long package URLs have some 300 KB, and as many page tokens. */
  osvQuestionBytesMax: 1024 * 1024,
  /** Queries of one batch, and records of one answer's page, as the service of OSV has them. */
  osvQueriesMax: 1_000,
  osvRecordsMax: 1_000,
  /** Records that one answer of OSV's API judges, for all its queries: some 20 µs each. What is left comes with a page token. */
  osvCandidatesMax: 20_000,
  /** Bytes of records in one answer of OSV's API, and of ranges and versions that are held at once to judge them. */
  osvAnswerBytes: 8 * 1024 * 1024,
  /** The ecosystems that a query without one is about. */
  osvEcosystemsMax: 100,
  /**
   * What a page of the docs stands for among them: it is made of a document when it is asked for, in some milliseconds, so that an
   * address takes some seconds of a minute at most. A company behind one address opens 1,200 pages in it.
   */
  docsPageRequests: 10,
  /** What a batch, and an archive, stand for among the requests of an address (openReadsPerMinute). */
  osvBatchRequests: 50,
  osvArchiveRequests: 600,
  /** Total size of the archives that a server keeps prepared. A replaced one stays until its readers end. OSV's archive of everything has 1.2 GB. */
  archiveFilesBytesMax: 4 * 1024 * 1024 * 1024,
  archiveFilesMax: 256,
  /** So long a request waits until its archive is prepared; then it is made as it is sent. */
  archiveWaitMs: 20_000,
  /** How often a server looks whether archives are to be prepared again, and how long after its last reader it still does. */
  archiveLookMs: 30_000,
  archiveUnusedMs: 24 * 60 * 60 * 1000,
  /** An archive that was prepared for nothing, and longer than this, is not prepared again for four times as long: at most a fifth of a processor. */
  archiveQuickMs: 2_000,
  /** Bytes of an ecosystem and a name that an index holds, beside a number of feedIdLengthMax. */
  packageKeyBytesMax: 1_000,
  /** Rows of a list of documents that are read at once; some 300 bytes each. */
  documentPageRows: 5_000,
  /** Signatures of documents that are kept in memory, some 400 bytes each; making one takes about a millisecond. */
  documentSignaturesMax: 5_000,
  /** What a list or a folder of CSAF stands for among the requests of an address. */
  csafListRequests: 20,
  /** Issuers whose documents are passed on, by licence and label; and documents of one name that are looked at. */
  csafIssuersMax: 5_000,
  /**
   * Facets of advisories that a filter may lead to and each be a range of an index (counted there: measured at a million
   * rows, a tenth of the time that reading the rows takes); beyond it all rows are walked.
   */
  facetsMax: 2_000,
  /** The shortest text that an index of trigrams knows. */
  trigramLength: 3,
  /** Days of one report on resolved vulnerabilities: ten years. Each day is a report, with or without any. */
  reportDaysMax: 3_660,
  /** Vulnerabilities that one request names (resources: Advisory). */
  vulnerabilityIdsMax: 1_000,

  /** A branch of at most this many rows is sorted; a larger one walks the order's index (docs/decisions). */
  sortRowsMax: 5_000,
  /** Rows of an order in which a frequent text is looked for before all that have it are sorted: a tenth of a second. */
  nearRowsMax: 20_000,

  /** Events numbered at once. */
  numberedMax: 500,
  /**
   * Deliveries made at once, over all organizations that have events to enqueue, and how many of these take part: 500 take
   * some 30 ms, so that whoever comes new waits for no more than a few of these (measured).
   */
  fanOutMax: 500,
  fanOutOrganizationsMax: 32,
  /**
   * How long a piece of shared work may take before it is halved: many times what it takes, and little to wait for. A single
   * one has the time of any statement.
   */
  pieceTimeoutMs: 1_000,
  /** How long what failed alone is left aside: at first, and, doubled each time, at most. */
  setAsideMs: 1_000,
  setAsideMaxMs: 60 * 60 * 1000,
  /** What one server remembers to have set aside; events that the audit log goes on without. */
  setAsideEntriesMax: 1_000,
  /** How long one piece waits for the order of an organization's events before others have their turn. */
  orderWaitMs: 250,
  /** Deliveries that one server may have claimed. */
  claimedMax: 256,
  /** Of them to one subscription whose sink is quick, and to one of which that is not known, as which a failing one counts. */
  claimedPerSubscriptionMax: 64,
  claimedPerUnprovenMax: 4,
  /**
   * How long a server claims nothing more of an organization whose share of outbound connections was full: at first, and,
   * doubled each time in a row, at most. A place becomes free when any of its sinks answers, which takes most of them less.
   */
  shareFullMs: 250,
  shareFullMaxMs: 4_000,
  /** Of them to all sinks that are not known to be quick: what is slow or dead leaves half to the others. */
  claimedUnprovenMax: 128,
  /** A sink that answers within this time is quick; so many are remembered. */
  sinkQuickMs: 1000,
  quickSinksMax: 1_000,
  /** events, 8: how long a sink may take, and after how long an attempt counts as lost with its server. */
  deliveryTimeoutMs: 10_000,
  deliveryLeaseMs: 20_000,
  /** How often a server looks for what is to be sent when it has nothing to do: a tenth of what users notice. */
  deliveryPollMs: 200,
  /** How often a server at rest asks whether another server has committed something, and looks for deliveries that wait for their time. */
  idleLookMs: 2_000,
  /** How often it looks although nothing was committed: for what an error has set aside. */
  restLookMs: 10_000,
  /** How often gantry events tail looks: a person does not see the difference. */
  tailPollMs: 500,
  /**
   * Clocks of servers differ by so much without being wrong; and how often each server looks for deliveries that a wrong
   * one has put off, and how many sinks it looks through at once.
   */
  clockToleranceMs: 1_000,
  delayLookMs: 60_000,
  delayLookMax: 500,
  /** The token on a delivery (events, 6). */
  deliveryTokenLifetimeMs: 5 * 60 * 1000,
  /** A subscription whose sink failed for so long is disabled. */
  sinkFailureMs: 5 * 24 * 60 * 60 * 1000,
  /** A secret's overlap when nothing is said; the contract says how long it may be at most. */
  secretOverlapMs: 24 * 60 * 60 * 1000,
  /** Events that one replay sends again; more are asked for in steps. */
  replayMax: 10_000,
  /** Pending memberships that one page asks a user about, the newest first. */
  organizationsAskedMax: 20,
  /** How long sign-ins ask about a pending membership. The membership stays pending after that. */
  organizationsAskedMs: 30 * 24 * 60 * 60 * 1000,
  /** The audit log: entries sealed at once, how often a server looks for new ones, entries that one step of checking reads. */
  sealedMax: 500,
  sealPollMs: 500,
  verifiedMax: 2_000,
  exportedEntriesMax: 500,
  /** The longest path of an entry, 29 levels deep: an index holds 2,704 bytes, and beside it there is a subject of any length. */
  auditPathLengthMax: 40 + 29 * 17,
  /** Refused calls written down in a minute: of one identity, and of all who could not be made out. Further ones are counted. */
  refusalsWindowMs: 60_000,
  refusalsPerCallerMax: 100,
  refusalsUnknownMax: 10,
  /** Of those, written in one transaction. */
  refusalsWrittenMax: 500,
  /** Identities whose refusals are told apart in a minute; those of all others are counted together. */
  refusalCallersMax: 1_000,
  /** How long the log is kept: a year, as auditors ask for, and the month that has begun. */
  auditMonths: 13,
  auditMonthsMax: 120,
  /** How much longer a month stays that a target of the log does not have: a quarter, in which somebody reads what the server says of it. */
  auditHeldMonths: 3,
  /** A target counts for as long after a server had it in its settings; how often servers write that down is below. */
  auditTargetSeenMs: 24 * 60 * 60 * 1000,
  auditTargetNoteMs: 60 * 60 * 1000,
  auditTargetsMax: 16,
  /**
   * How often a server looks for entries to send; how many go together, in how many bytes (many proxies take a
   * MiB), within what time: a receiver may stop in the middle.
   */
  auditSendPollMs: 1_000,
  auditBatchMax: 500,
  auditBatchBytes: 512 * 1024,
  auditSendMs: 30_000,
  /** A server that dies gives its turn back after so long: longer than a batch may take. */
  auditTargetLeaseMs: 60_000,
  auditTargetPauseMaxMs: 5 * 60 * 1000,
  /** A target that is behind by so much is told, once in so long. */
  auditBehindMs: 60 * 60 * 1000,
  /** How long events can be listed and sent again, and deliveries looked at. */
  eventRetentionMs: 30 * 24 * 60 * 60 * 1000,
  deliveryRetentionMs: 7 * 24 * 60 * 60 * 1000,
  /** An event that a subscription is still to be sent is kept beyond that, but no longer: a sink that refuses one subject alone is never switched off. */
  undeliveredKeptMs: 400 * 24 * 60 * 60 * 1000,

  /**
   * A list by several values of an indexed field merges their ranges: up to so many always, and more of them as long as
   * ranges times rows stay below the second number. Beyond it most rows fit, and all are walked (measured at a million).
   */
  mergedRangesMax: 8,
  mergedRowsMax: 500_000,

  /** oci: 1. A manifest, held in memory while it is read; images have some KiB. */
  manifestBytesMax: 4 * 1024 * 1024,
  /** What is read of an image's configuration, for its platform. */
  imageConfigBytesMax: 4 * 1024 * 1024,
  /** Tags that one push may name. */
  pushedTagsMax: 100,
  /** Names of a list of tags, and entries of a list of referrers. */
  tagNamesMax: 10_000,
  /**
   * Lists of tags that are kept: long ones, so many of an organization, with so many names (some 5 MB with their text), of so many
   * organizations. While more events than this have no position yet, none is looked for: lists are read anew.
   */
  tagListKeptMin: 200,
  tagListsEach: 64,
  tagListNamesEach: 50_000,
  tagListOrganizations: 8,
  lastPositionWaitingMax: 100,
  referrersMax: 500,
  /** A client that sends, or takes, nothing of a blob for so long has gone. */
  contentSilenceMs: 60_000,
  /** Of one upload before everybody else's turn: eight pushes kept a call waiting for 20 ms where they had 2 MiB each. */
  contentTurnBytes: 64 * 1024,
  /** A blob that no manifest needs yet: a push of many layers over a slow line takes hours. Renewed when somebody is told of it. */
  blobLeaseMs: 24 * 60 * 60 * 1000,
  /** Who appends to an upload holds it for so long, again and again; another server goes on when it does not. */
  uploadHoldMs: 30_000,
  /** An upload to which nobody has written for so long is given up. */
  uploadKeptMs: 7 * 24 * 60 * 60 * 1000,
  /**
   * What is pushed to a path without a repository expires after so long, unless its client pushes more or is told that a blob is there;
   * that is noted at most once in `pendingUseMs`. So many paths of one organization at once: a build of hundreds of new images.
   */
  pendingKeptMs: 24 * 60 * 60 * 1000,
  pendingUseMs: 60 * 60 * 1000,
  pendingReposEach: 1000,
  /** Uploads whose digest is computed as they come, each some 300 bytes; of others it is computed at their end. */
  uploadDigestsMax: 10_000,
  /** How long a registry token lasts (oci: 4): clients request one for each repository, and renew it. */
  registryTokenLifetimeMs: 5 * 60 * 1000,
  /** Repositories in one registry token: with the longest usual uids it stays below 8 KiB, which proxies accept as a header. */
  registryTokenReposMax: 16,
  /** Pulls that wait to be told of, some 500 bytes each; for how long; and so many of them are one transaction. */
  waitingPullsMax: 20_000,
  pullsWrittenMs: 500,
  pullsWrittenMax: 500,
  /** What a tag pointed at before: of one that is moved with each build, a few weeks; of others a year and a month, as of what is resolved. */
  tagHistoryMax: 1000,
  tagHistoryKeptMs: 400 * 24 * 60 * 60 * 1000,
  /** How exactly it is known when a manifest was last used: a pull writes it down when it is older. Less than the shortest time to keep it. */
  manifestUseMs: 12 * 60 * 60 * 1000,
  untaggedDaysMax: 3650,
  /** Manifests that are collected in one transaction, with what goes along. */
  collectedManifests: 50,
  /** Collection: how often one of the servers goes through everything, and how many rows or contents it looks at together. */
  collectionMs: 6 * 60 * 60 * 1000,
  collectionPageRows: 500,
  /**
   * What a crash has left, and what has expired, goes within an hour: how often one of the servers looks, and how old content must be that no
   * row names. Who writes longer names it (`blobWriteNamedMs`); between the last byte and its row lie seconds.
   */
  leftoversMs: 20 * 60 * 1000,
  unnamedKeptMs: 30 * 60 * 1000,
  /** What is complete may be known to a newer copy of the database: for so long it can come back. */
  completedKeptMs: 7 * 24 * 60 * 60 * 1000,
  blobWriteNamedMs: 10 * 60 * 1000,
  /** Of a backup: rows of a table go out in pieces of so many bytes before they are compressed; a piece is whole rows, one of them at least. */
  backupPieceBytes: 8 * 1024 * 1024,
  /** What a piece of a backup may become when it is read: PostgreSQL's longest row is 1 GiB, and a piece of rows. */
  backupPieceMaxBytes: 1024 * 1024 * 1024 + 16 * 1024 * 1024,
  /** What describes a backup is read whole: a table's columns are some 500 bytes, a broken blob 75. */
  backupTextMaxBytes: 4 * 1024 * 1024,
  /** Blobs that a backup may lack before it gives up: more is no broken disk, but the wrong place. */
  backupBrokenMax: 10_000,
  /** A backup that PostgreSQL does not hear of for so long has ended: blobs are collected again. It tells of itself four times as often. */
  backupSilenceMs: 120_000,
  /** Manifests of up to 4 MiB that verification holds together. */
  verifiedManifestsMax: 16,
  /** Contents of the blob place that are removed together. */
  blobRemovalsMax: 100,
  /** Who left one has surely committed. */
  blobRemovalAgainMs: 200,

  /**
   * Request groups: items of one (the longest lock files hold some 1,500), characters of one requirement without its options,
   * what a POM's properties may grow to and how deep they may name each other, and request groups that an entry of a list names.
   */
  requestItemsMax: 2_000,
  requirementLengthMax: 1_024,
  propertyLengthMax: 256,
  propertyDepthMax: 10,
  contributingGroupsMax: 20,

  /** Safe writes: how long an answer is kept for its idempotency key. Longest key as with the field's leaders. */
  idempotencyLifetimeMs: 24 * 60 * 60 * 1000,
  idempotencyKeyLengthMax: 255,

  /**
   * A tool's result (MCP) goes into a conversation, of which a page of 25 entries and 20 kB take a noticeable part; more is asked for by
   * page. Keys of one map, and sentences about what was left out.
   */
  mcpItemsMax: 25,
  /** Operations that a search for tools returns, with their schemas. */
  mcpOperationsMax: 5,
  /** A search compares each word with those of every operation, on the one event loop. */
  mcpQueryLengthMax: 200,
  mcpResultBytesMax: 20_000,
  mcpKeysMax: 100,
  mcpNotesMax: 10,
  /** How long a client may keep the list of tools: it follows from the contract, which a new version of the server changes. */
  mcpListLifetimeMs: 60 * 60 * 1000,

  /** What repeats in the log is told once in so long; so many kinds of it are told apart, and the oldest ends where there are more. */
  logRepeatMs: 60_000,
  logKindsMax: 1_000,

  /**
   * Metrics. A scrape's text is made at most so often, however many ask; what needs the database is asked for at most as often
   * as the second says, and may take as long as the third: Prometheus waits for ten seconds.
   */
  metricsKeptMs: 1_000,
  metricRowsKeptMs: 15_000,
  metricReadMs: 3_000,
  /** The bytes of all blobs are a sum over all of them: a million in 0.2 s. */
  metricTotalsKeptMs: 5 * 60 * 1000,
  /** Rows that are counted of what waits: 10,000 in 3 ms. */
  backlogRowsMax: 10_000,
  /** Connections to a port of its own: of a few scrapers and a person. */
  privateConnectionsMax: 64,
  /** Fewest characters of the token for metrics: what nobody guesses, as openssl rand -base64 24 makes it with 32. */
  metricsTokenLengthMin: 24,
  /** Different values of one label, and the length of one: the contract has some 700 operations, the longest name of which has 85 characters. */
  metricLabelValuesMax: 1_000,
  metricLabelLengthMax: 128,
  /** How often it is looked how late the event loop is: five times a second costs nothing that can be measured. */
  eventLoopLookMs: 200,

  // ---- traces (server/calls) --------------------------------------------------------------------------------------------
  /**
   * Calls of which a server keeps traces in a second, where GANTRY_TRACES_PER_SECOND says nothing else: as many again that callers ask for,
   * and as many deliveries. A call's statements are planned anew where it is traced, some 0.3 ms of the database's each.
   */
  tracesPerSecond: 20,
  tracesPerSecondMax: 1_000,
  /** Parts of one call that are told: an import has thousands of statements. */
  tracePartsMax: 200,
  /** A statement's text, at most. */
  traceTextMax: 2_048,
  /** Spans that wait for the collector, some 2 KiB each: beyond them they are dropped. */
  traceQueueSpans: 4_096,
  /** Spans in one request to it, and how long they are gathered at most. */
  traceBatchSpans: 512,
  traceBatchMs: 1_000,
  /** A collector that takes longer gets the next ones. */
  traceExportMs: 10_000,
  /** Of what is left when the server stops. */
  tracesCloseMs: 2_000,
} as const;

/**
 * How many of each may lie below one organization, where the operator has set nothing else (gantry admin quota). An event makes a
 * delivery for each subscription above it, 500 in 30 ms; a request group holds up to 2,000 items, which two lists walk (15 µs each);
 * users and groups of SCIM are those of a large company's directories, twice 100,000 people and a group for each ten of them (documents
 * of 32 KiB each: 7 GB), and who was removed is a user still (475 bytes); the others are as many as lists and rights were measured with.
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
 * The same of what is counted without being a resource of the contract. Members of groups of SCIM: five for each of 100,000 people, 25 in
 * each group. 750 bytes each with their indexes, so 375 MB; a provider that is deleted takes them along by one statement, which has 15 s.
 * Pending memberships: each asks a user a question, and users that the organization's provider or SCIM vouches for are not counted.
 */
export const rowQuotas = { "pending-memberships": 1_000, "scim-members": 500_000 } as const;

/** Bytes of blobs of one organization, where the operator has set nothing else: more than a disk has. */
export const storageQuotas = { "blob-bytes": 100_000_000_000_000 } as const;

/**
 * Requests a second to one server, of one identity and of all identities of one organization, where the operator has set
 * nothing else. A process answers some 15,000 (measured): one identity has an eighth of it, one organization a third.
 */
export const requestRates = {
  "identity-requests": 2_000,
  "organization-requests": 5_000,
  // Of one identity provider by SCIM. Directories are written by a few connections at a time; Entra ID wants 25 requests a second taken.
  "scim-writes": 100,
} as const;
