// Order of Bitnami versions: SemVer of the upstream version, then the package revision after the last hyphen. 6.4.3-0 is the
// first package of 6.4.3, not a pre-release (https://docs.bitnami.com, "Understand Bitnami's versions"). A missing revision
// counts as 0.

import { compareDigits } from "./digits.ts";
import { compareSemver } from "./semver.ts";

const splitRevision = (version: string): { readonly upstream: string; readonly revision: string } => {
  const [, upstream = version, revision = "0"] = /^(.+)-([0-9]+)$/.exec(version) ?? [];
  return { upstream, revision };
};

export const compareBitnami = (one: string, other: string): number | undefined => {
  const [left, right] = [splitRevision(one), splitRevision(other)];
  const order = compareSemver(left.upstream, right.upstream);
  return order === 0 ? compareDigits(left.revision, right.revision) : order;
};
