// What parsers make and the store takes: one neutral record for everything that a feed can tell.
//
//   writeRecords(rows, target, records)            a batch of any kinds, in the transaction of `rows`
//   withdrawVanished(rows, target, kind, seen)     behind a source that was read whole: what it told earlier and no
//                                                  longer tells is withdrawn, never deleted
//   settleRecords(rows)                            behind an import: indexes take in what they have put off

export {
  type AdvisoryEventData,
  type AdvisoryEventRecord,
  type AdvisoryRecord,
  type FalsePositiveType,
  type FeedRecord,
  type ImagePackagesRecord,
  type LibraryArtifactRecord,
  type LibraryVersionRecord,
  type PackageOriginRecord,
  recordKey,
  type RecordTarget,
  type ReferenceRecord,
  type ScanDetection,
  settleRecords,
  type SeverityRecord,
  type VulnerabilityRecord,
  withdrawVanished,
  writeRecords,
  type Written,
} from "#store";
