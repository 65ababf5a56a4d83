// The order of Bitnami's versions: SemVer of the upstream version, then the revision of the package behind the last hyphen.
// 6.4.3-0 is the first package of 6.4.3 and no pre-release of it (https://docs.bitnami.com, "Understand Bitnami's versions"). A
// version without a revision counts as revision 0. Pure.

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
