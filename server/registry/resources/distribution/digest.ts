// Digests (oci: 1): sha256 for all content, sha512 on request. Pure.

import { digestInvalid } from "./faults.ts";

export type DigestAlgorithm = "sha256" | "sha512";

export interface Digest {
  readonly algorithm: DigestAlgorithm;
  /** As written: "sha256:…". */
  readonly text: string;
}

const digestForm = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

export const isDigest = (text: string): boolean => digestForm.test(text);

/** Throws DIGEST_INVALID. */
export const readDigest = (text: string): Digest => {
  if (isDigest(text)) return { algorithm: text.startsWith("sha512") ? "sha512" : "sha256", text };
  throw digestInvalid("must be sha256: with 64, or sha512: with 128 lowercase hexadecimal digits");
};

/** Throws DIGEST_INVALID for unsupported algorithms. "" means sha256. */
export const readAlgorithm = (text: string): DigestAlgorithm => {
  if (text === "" || text === "sha256") return "sha256";
  if (text === "sha512") return "sha512";
  throw digestInvalid("can be of the algorithms sha256 and sha512");
};
