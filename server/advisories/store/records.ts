// What imports hand to the store: neutral records, whatever file they came from. A writer takes a batch of a few
// hundred to a thousand; each goes in as a handful of statements, and what is stored already is not written again.

/** For whom an import is, and when. */
export interface RecordTarget {
  /** The group that owns what is imported. */
  readonly group: string;
  /**
   * Whether the open operations show it too. Vulnerabilities and image packages then belong to everybody. Undefined:
   * nothing is said of it, so that what is public stays so and what is new is not.
   */
  readonly public: boolean | undefined;
  /** Names the source, always the same for the same source: what vanishes from it is withdrawn (withdrawVanished). */
  readonly feed: string;
  readonly nowMs: number;
  /** The documents that tell the records, by recordKey. */
  readonly tellers?: ReadonlyMap<string, RecordTeller>;
  /** The form of what no document tells. */
  readonly form?: string;
}

/** The document that tells a record. */
export interface RecordTeller {
  readonly id: string;
  readonly form: string;
  /** What a new record is. */
  readonly public: boolean;
  /** Its licence allows to publish it. */
  readonly isPublishable: boolean;
}

/** How many records of a batch were what. */
export interface WriteCounts {
  readonly new: number;
  readonly changed: number;
  readonly withdrawn: number;
  readonly unchanged: number;
}

/** Members of AdvisoryEvent.Detection.ScanV1, by their JSON names. */
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

/** What happened: exactly one of the members of AdvisoryEvent's oneof, under its JSON name. */
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
  /** RFC 3339 in UTC; what is finer than milliseconds is cut. */
  readonly time: string;
  /** The record's author where the source names none. */
  readonly author?: string;
  readonly reviewer?: string;
  /** APPROVED where the source says nothing: imports are of trusted feeds. */
  readonly reviewState?: "REVIEW_STATE_PENDING" | "REVIEW_STATE_APPROVED" | "REVIEW_STATE_REQUEST_CHANGES" | "REVIEW_STATE_REJECTED";
  readonly issue?: string;
  readonly data: AdvisoryEventData;
}

export interface AdvisoryRecord {
  readonly kind: "advisory";
  /**
   * What makes it the same advisory the next time, whatever else changes: "CGA-2m48-vwwr-5rx7", or where a number
   * stands for several, all that tells them apart ("RHSA-2020:1358 CVE-2020-10531 icu"). Two sources that give the
   * same key mean the same advisory.
   */
  readonly key: string;
  /** Its number as it is shown. */
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
  /** The package that the artifact is built from; artifactName where the source does not say. */
  readonly origin?: string;
  /** DocumentAdvisory.package_namespace, such as "wolfi". */
  readonly namespace?: string;
  readonly aliases: readonly string[];
  /** In the source's order; they are kept by time, and in that order where times are equal. */
  readonly events: readonly AdvisoryEventRecord[];
  /** When its source withdrew it. */
  readonly withdrawnTime?: string;
}

export interface SeverityRecord {
  readonly type: "TYPE_CVSS_V2" | "TYPE_CVSS_V3" | "TYPE_CVSS_V4" | "TYPE_UNSPECIFIED";
  /** The vector, or the score where the source gives no vector. */
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
  /** Its own number: never an alias. */
  readonly id: string;
  readonly aliases: readonly string[];
  readonly state: "PUBLISHED" | "REJECTED";
  readonly summary: string;
  readonly details: string;
  readonly severities: readonly SeverityRecord[];
  readonly references: readonly ReferenceRecord[];
  readonly publishTime?: string;
  /** Of two sources' records of one number the later modified stays; of equally old ones the first. */
  readonly modifyTime?: string;
  readonly withdrawnTime?: string;
}

export interface LibraryVersionRecord {
  readonly version: string;
  /** When it was published; absent where the source does not know. */
  readonly publishTime?: string;
  /** Bytes of its files together; absent where the source does not know. */
  readonly sizeBytes?: number;
  readonly description?: string;
}

/** An artifact with all versions that this source has of it. */
export interface LibraryArtifactRecord {
  readonly kind: "library";
  readonly ecosystem: "ECOSYSTEM_JAVA" | "ECOSYSTEM_PYTHON";
  readonly name: string;
  readonly description?: string;
  /** It has a version in which vulnerabilities were remediated. */
  readonly remediated?: boolean;
  readonly cudaVersions?: readonly string[];
  readonly versions: readonly LibraryVersionRecord[];
}

/** What one image, by repo, tag and architecture, is made of. */
export interface ImagePackagesRecord {
  readonly kind: "image";
  /** "nginx", "public/apko" */
  readonly repo: string;
  readonly tag: string;
  /** "amd64"; "" where the source does not say. */
  readonly architecture: string;
  readonly packages: readonly { readonly name: string; readonly version: string }[];
}

/** The package `name` is built from the package `origin`. */
export interface PackageOriginRecord {
  readonly kind: "origin";
  readonly name: string;
  readonly origin: string;
}

/** That a vulnerability is exploited, as CISA's catalogue says. A fact beside the vulnerability's records: it changes none of them. */
export interface KnownExploitRecord {
  readonly kind: "known exploit";
  /** The vulnerability's CVE number. */
  readonly id: string;
  /** A day, "2025-08-25". */
  readonly dateAdded: string;
  /** By when it is to be dealt with; "" where nothing is said. */
  readonly dueDate: string;
  /** Known to be used in campaigns of ransomware. */
  readonly ransomware: boolean;
  readonly requiredAction: string;
}

/** How likely a vulnerability is to be exploited within 30 days, as EPSS says. A fact beside its records, too. */
export interface ExploitPredictionRecord {
  readonly kind: "exploit prediction";
  /** The vulnerability's CVE number. */
  readonly id: string;
  /** From 0 to 1. */
  readonly score: number;
  /** The part of all vulnerabilities that are as likely or less. */
  readonly percentile: number;
  /** The day for which it was computed. Of two sources' the later one stays. */
  readonly date: string;
}

/** One line of versions of a product: "18" of nodejs. */
export interface LifecycleRelease {
  /** The version that all versions of the line begin with. */
  readonly version: string;
  /** A day, "2022-04-19". */
  readonly releaseDate: string;
  /** The day from which on it is at its end; "true": it is, since nobody says when; "": no end is known. */
  readonly end: string;
  /** The day from which on it is supported for long; "true": it is, since nobody says when; "": it is not. */
  readonly lts: string;
  /** The newest version of the line; "" where the source does not say. */
  readonly latest: string;
  /** It cannot be built any longer: there is no grace behind its end. */
  readonly broken: boolean;
}

/** When the versions of a product are released and end. */
export interface LifecycleRecord {
  readonly kind: "lifecycle";
  /** "nodejs" */
  readonly product: string;
  /** The names that repos and packages of the product have, the product's own first. */
  readonly names: readonly string[];
  /** For how many months versions are still maintained behind their end. */
  readonly graceMonths: number;
  /** Each version once, in the source's order. */
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
