// Records that imports pass to the store, independent of the file format. A writer takes a batch of a few hundred to a thousand records
// and writes it in a few statements; unchanged records are not written again.

/** The owner, source and time of an import. */
export interface RecordTarget {
  /** The group that owns the imported records. */
  readonly group: string;
  /**
   * Makes the records visible to anonymous callers; vulnerabilities and image packages then belong to everyone. If undefined, existing
   * records keep their visibility and new ones are private.
   */
  readonly public: boolean | undefined;
  /** Identifies the source across imports: records that disappear from it are withdrawn (withdrawVanished). */
  readonly feed: string;
  readonly nowMs: number;
  /** Source documents of the records, by recordKey. */
  readonly tellers?: ReadonlyMap<string, RecordTeller>;
  /** The form of records without a source document. */
  readonly form?: string;
}

/** The source document of a record. */
export interface RecordTeller {
  readonly id: string;
  readonly form: string;
  /** Visibility of new records. */
  readonly public: boolean;
  /** Its license permits publication. */
  readonly isPublishable: boolean;
}

/** Counts of a batch's records by outcome. */
export interface WriteCounts {
  readonly new: number;
  readonly changed: number;
  readonly withdrawn: number;
  readonly unchanged: number;
}

/** Fields of AdvisoryEvent.Detection.ScanV1, by JSON name. */
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

/** Exactly one field of AdvisoryEvent's oneof, by JSON name. */
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
  /** RFC 3339 in UTC, truncated to milliseconds. */
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
   * Identifies the advisory across imports: "CGA-2m48-vwwr-5rx7", or if an ID covers several advisories, all parts that distinguish them
   * ("RHSA-2020:1358 CVE-2020-10531 icu"). Sources with the same key mean the same advisory.
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
  /** The package that the artifact is built from (default: artifactName). */
  readonly origin?: string;
  /** DocumentAdvisory.package_namespace, such as "wolfi". */
  readonly namespace?: string;
  readonly aliases: readonly string[];
  /** In the source's order; stored by time, with ties in the source's order. */
  readonly events: readonly AdvisoryEventRecord[];
  /** When its source withdrew it. */
  readonly withdrawnTime?: string;
}

export interface SeverityRecord {
  readonly type: "TYPE_CVSS_V2" | "TYPE_CVSS_V3" | "TYPE_CVSS_V4" | "TYPE_UNSPECIFIED";
  /** The vector, or the score if the source has no vector. */
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
  /** If two sources have a record with the same ID, the later modified one is kept; with equal times the first. */
  readonly modifyTime?: string;
  readonly withdrawnTime?: string;
}

export interface LibraryVersionRecord {
  readonly version: string;
  /** Absent if unknown to the source. */
  readonly publishTime?: string;
  /** Total bytes of its files; absent if unknown to the source. */
  readonly sizeBytes?: number;
  readonly description?: string;
}

/** An artifact with all its versions in this source. */
export interface LibraryArtifactRecord {
  readonly kind: "library";
  readonly ecosystem: "ECOSYSTEM_JAVA" | "ECOSYSTEM_PYTHON";
  readonly name: string;
  readonly description?: string;
  /** It has a version with remediated vulnerabilities. */
  readonly remediated?: boolean;
  readonly cudaVersions?: readonly string[];
  readonly versions: readonly LibraryVersionRecord[];
}

/** The packages of one image, by repo, tag and architecture. */
export interface ImagePackagesRecord {
  readonly kind: "image";
  /** "nginx", "public/apko" */
  readonly repo: string;
  readonly tag: string;
  /** "amd64"; "" if the source does not state it. */
  readonly architecture: string;
  readonly packages: readonly { readonly name: string; readonly version: string }[];
}

/** The package `name` is built from the package `origin`. */
export interface PackageOriginRecord {
  readonly kind: "origin";
  readonly name: string;
  readonly origin: string;
}

/** An exploited vulnerability, from CISA's KEV catalog. Stored separately from vulnerability records, which it does not change. */
export interface KnownExploitRecord {
  readonly kind: "known exploit";
  /** CVE ID. */
  readonly id: string;
  /** A date, "2025-08-25". */
  readonly dateAdded: string;
  /** Remediation deadline; "" if none. */
  readonly dueDate: string;
  /** Known to be used in ransomware campaigns. */
  readonly ransomware: boolean;
  readonly requiredAction: string;
}

/** The probability that a vulnerability is exploited within 30 days, from EPSS. Also stored separately from vulnerability records. */
export interface ExploitPredictionRecord {
  readonly kind: "exploit prediction";
  /** CVE ID. */
  readonly id: string;
  /** From 0 to 1. */
  readonly score: number;
  /** The proportion of vulnerabilities with the same or a lower score. */
  readonly percentile: number;
  /** The date of the score. Of two sources, the later date is kept. */
  readonly date: string;
}

/** A release line of a product, such as "18" of nodejs. */
export interface LifecycleRelease {
  /** The common prefix of the line's versions. */
  readonly version: string;
  /** A date, "2022-04-19". */
  readonly releaseDate: string;
  /** End-of-life date; "true" if it is past but the date is unknown; "" if no end is known. */
  readonly end: string;
  /** Start date of long-term support; "true" if the date is unknown; "" if it has none. */
  readonly lts: string;
  /** The newest version of the line; "" if the source does not state it. */
  readonly latest: string;
  /** It can no longer be built, so it has no grace period. */
  readonly broken: boolean;
}

/** Release and end-of-life dates of a product's versions. */
export interface LifecycleRecord {
  readonly kind: "lifecycle";
  /** "nodejs" */
  readonly product: string;
  /** Names of the product's repos and packages, its own name first. */
  readonly names: readonly string[];
  /** Months of maintenance after the end of life. */
  readonly graceMonths: number;
  /** Distinct versions, in the source's order. */
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
