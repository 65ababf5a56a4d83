// What formats make of documents and the store takes: one neutral record for everything that a feed can tell.

export type {
  AdvisoryEventData,
  AdvisoryEventRecord,
  AdvisoryRecord,
  ExploitPredictionRecord,
  FalsePositiveType,
  FeedRecord,
  ImagePackagesRecord,
  KnownExploitRecord,
  LibraryArtifactRecord,
  LibraryVersionRecord,
  LifecycleRecord,
  LifecycleRelease,
  PackageOriginRecord,
  ReferenceRecord,
  ScanDetection,
  SeverityRecord,
  VulnerabilityRecord,
} from "#advisories/store";
