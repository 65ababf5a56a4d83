// Records that imports pass to the store, independent of the file format. Unchanged records are not written again.

export interface RecordTarget {
  readonly group: string;
  /** Vulnerabilities and images that are public belong to everyone. If undefined, records keep their visibility and new ones are private. */
  readonly public: boolean | undefined;
  /** Records that disappear from a source are withdrawn (withdrawVanished). */
  readonly feed: string;
  readonly nowMs: number;
  /** By recordKey. */
  readonly assertions?: ReadonlyMap<string, RecordAssertion>;
  /** For records without a document. */
  readonly form?: string;
}

export interface RecordAssertion {
  readonly id: string;
  readonly form: string;
  readonly public: boolean;
  readonly isPublishable: boolean;
}

export interface WriteCounts {
  readonly new: number;
  readonly changed: number;
  readonly withdrawn: number;
  readonly unchanged: number;
}

/** AdvisoryEvent.Detection.ScanV1, by JSON name. */
export interface ScanDetection {
  readonly scanner?: string;
  readonly subpackage?: string;
  readonly componentId?: string;
  readonly component?: string;
  readonly componentVersion?: string;
  readonly componentType?: string;
  readonly componentLocation?: string;
  readonly artifactVersion?: string;
  readonly scannerVersion?: string;
  readonly grypeDbBuilt?: string;
  readonly grypeDbChecksum?: string;
}

export type FalsePositiveType =
  | "TYPE_UNSPECIFIED"
  | "TYPE_VULNERABILITY_RECORD_ANALYSIS_CONTESTED"
  | "TYPE_COMPONENT_VULNERABILITY_MISMATCH"
  | "TYPE_VULNERABLE_CODE_VERSION_NOT_USED"
  | "TYPE_VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE"
  | "TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH"
  | "TYPE_VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY"
  | "TYPE_INLINE_MITIGATIONS_EXIST";

/** One field of AdvisoryEvent's oneof, by JSON name. */
export type AdvisoryEventData =
  | { readonly detection: { readonly nvdapi: { readonly cpeSearched?: string; readonly cpeFound?: string } } }
  | { readonly detection: { readonly manual: Readonly<Record<string, never>> } }
  | { readonly detection: { readonly scanv1: ScanDetection } }
  | {
      readonly fixed: {
        readonly fixedVersion?: string;
        readonly note?: string;
        readonly scannerVersion?: string;
        readonly grypeDbBuilt?: string;
        readonly grypeDbChecksum?: string;
      };
    }
  | { readonly falsePositiveDetermination: { readonly type?: FalsePositiveType; readonly note?: string } }
  | { readonly analysisNotPlanned: { readonly note?: string } }
  | { readonly fixNotPlanned: { readonly note?: string } }
  | { readonly pendingUpstreamFix: { readonly note?: string } }
  | { readonly truePositiveDetermination: { readonly note?: string } }
  | { readonly patched: { readonly patchedVersions?: readonly string[]; readonly note?: string } };

export interface AdvisoryEventRecord {
  /** UTC, truncated to milliseconds. */
  readonly time: string;
  /** Default: the record's author. */
  readonly author?: string;
  readonly reviewer?: string;
  /** Default: APPROVED, because imports are from trusted feeds. */
  readonly reviewState?: "REVIEW_STATE_PENDING" | "REVIEW_STATE_APPROVED" | "REVIEW_STATE_REQUEST_CHANGES" | "REVIEW_STATE_REJECTED";
  readonly issue?: string;
  readonly data: AdvisoryEventData;
}

export interface AdvisoryRecord {
  readonly kind: "advisory";
  /**
   * Identifies the advisory across imports and sources: "CGA-2m48-vwwr-5rx7", or all parts that distinguish it ("RHSA-2020:1358
   * CVE-2020-10531 icu").
   */
  readonly key: string;
  /** The displayed ID. */
  readonly advisoryId: string;
  readonly legacyAdvisoryId?: string;
  /** The feed's name, such as "Wolfi". */
  readonly author: string;
  readonly artifactName: string;
  /** "apk", "go", "pypi", … */
  readonly artifactType: string;
  readonly artifactArchitecture?: string;
  readonly componentName?: string;
  readonly componentLocation?: string;
  readonly componentType?: string;
  /** Default: artifactName. */
  readonly origin?: string;
  /** DocumentAdvisory.package_namespace, such as "wolfi". */
  readonly namespace?: string;
  readonly aliases: readonly string[];
  /** In the source's order; stored by time. */
  readonly events: readonly AdvisoryEventRecord[];
  readonly withdrawnTime?: string;
}

export interface SeverityRecord {
  readonly type: "TYPE_CVSS_V2" | "TYPE_CVSS_V3" | "TYPE_CVSS_V4" | "TYPE_UNSPECIFIED";
  /** The vector, or the score if there is none. */
  readonly score: string;
}

export interface ReferenceRecord {
  readonly type:
    | "TYPE_UNSPECIFIED"
    | "TYPE_ADVISORY"
    | "TYPE_ARTICLE"
    | "TYPE_DETECTION"
    | "TYPE_DISCUSSION"
    | "TYPE_REPORT"
    | "TYPE_FIX"
    | "TYPE_INTRODUCED"
    | "TYPE_PACKAGE"
    | "TYPE_EVIDENCE"
    | "TYPE_WEB";
  readonly url: string;
}

export interface VulnerabilityRecord {
  readonly kind: "vulnerability";
  /** Its own ID, never an alias. */
  readonly id: string;
  readonly aliases: readonly string[];
  readonly state: "PUBLISHED" | "REJECTED";
  readonly summary: string;
  readonly details: string;
  readonly severities: readonly SeverityRecord[];
  readonly references: readonly ReferenceRecord[];
  readonly publishTime?: string;
  /** Of two sources' records the later modified is kept; on a tie the first. */
  readonly modifyTime?: string;
  readonly withdrawnTime?: string;
}

export interface LibraryVersionRecord {
  readonly version: string;
  readonly publishTime?: string;
  /** Of all files. */
  readonly sizeBytes?: number;
  readonly description?: string;
}

export interface LibraryArtifactRecord {
  readonly kind: "library";
  readonly ecosystem: "ECOSYSTEM_JAVA" | "ECOSYSTEM_PYTHON";
  readonly name: string;
  readonly description?: string;
  /** Some version has remediated vulnerabilities. */
  readonly remediated?: boolean;
  readonly cudaVersions?: readonly string[];
  readonly versions: readonly LibraryVersionRecord[];
}

export interface ImagePackagesRecord {
  readonly kind: "image";
  /** "nginx", "public/apko" */
  readonly repo: string;
  readonly tag: string;
  /** "amd64"; "" if the source does not state it. */
  readonly architecture: string;
  readonly packages: readonly { readonly name: string; readonly version: string }[];
}

export interface PackageOriginRecord {
  readonly kind: "origin";
  readonly name: string;
  readonly origin: string;
}

/** From CISA's KEV catalog. Does not change vulnerability records. */
export interface KnownExploitRecord {
  readonly kind: "known exploit";
  /** CVE ID. */
  readonly id: string;
  /** A date, "2025-08-25". */
  readonly dateAdded: string;
  readonly dueDate: string;
  readonly ransomware: boolean;
  readonly requiredAction: string;
}

/** Exploit probability within 30 days, from EPSS. */
export interface ExploitPredictionRecord {
  readonly kind: "exploit prediction";
  readonly id: string;
  /** From 0 to 1. */
  readonly score: number;
  /** The proportion of vulnerabilities with the same or a lower score. */
  readonly percentile: number;
  /** Of two sources, the later date is kept. */
  readonly date: string;
}

/** "18" of nodejs. */
export interface LifecycleRelease {
  /** The common prefix of its versions. */
  readonly version: string;
  /** "2022-04-19" */
  readonly releaseDate: string;
  /** A date, "true" if it is past but unknown, "" if there is none. */
  readonly end: string;
  /** A start date, "true" if it is unknown, "" if there is none. */
  readonly lts: string;
  /** The newest version; "" if unknown. */
  readonly latest: string;
  /** It can no longer be built, so it has no grace period. */
  readonly broken: boolean;
}

export interface LifecycleRecord {
  readonly kind: "lifecycle";
  /** "nodejs" */
  readonly product: string;
  /** Names of its repos and packages, its own first. */
  readonly names: readonly string[];
  /** Maintenance after the end of life. */
  readonly graceMonths: number;
  readonly releases: readonly LifecycleRelease[];
}

export type FactRecord = KnownExploitRecord | ExploitPredictionRecord;

export type FeedRecord =
  | AdvisoryRecord
  | VulnerabilityRecord
  | FactRecord
  | LibraryArtifactRecord
  | ImagePackagesRecord
  | PackageOriginRecord
  | LifecycleRecord;
