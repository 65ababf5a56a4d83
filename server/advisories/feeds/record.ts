// The neutral record types between formats and database.

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
