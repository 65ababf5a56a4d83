// Collects packages in the form of image_packages: package URL without version, with release and source package, which advisories
// name.

import { limits } from "#base/limits.ts";
import { packageLabel, readPurlParts, versionOf } from "../formats/purl.ts";
import type { Field } from "../field.ts";

export interface AssertedPackage {
  readonly purl: Field;
  /** "" if only the package URL has one. */
  readonly version: string;
  /** The source package; "" if unknown or in the package URL. */
  readonly origin: string;
}

export interface Packages {
  /** Versions by name. */
  readonly versions: ReadonlyMap<string, ReadonlySet<string>>;
  /** Components that cannot be matched: without package URL or version. */
  readonly unnamed: number;
}

export interface PackageCollection extends Packages {
  add(told: AssertedPackage): void;
}

// Not packages.
const containers = new Set(["oci", "docker"]);

export const collectPackages = (): PackageCollection => {
  const versions = new Map<string, Set<string>>();
  let [found, unnamed] = [0, 0];
  return {
    versions,
    get unnamed() {
      return unnamed;
    },
    add({ purl, version: beside, origin }) {
      const text = purl.name(limits.feedUrlLengthMax);
      const parts = text === "" ? undefined : readPurlParts(text);
      if (parts && containers.has(parts.type)) return;
      const version = parts === undefined ? "" : versionOf({ ...parts, version: parts.version || beside });
      const name = parts === undefined ? "" : packageLabel(parts, origin);
      if (name === "" || name.length > limits.feedNameLengthMax || version === "" || version.length > limits.versionLengthMax) {
        unnamed++;
        return;
      }
      const known = versions.get(name);
      if (known?.has(version)) return;
      if (++found > limits.sbomPackagesMax) purl.refuse(`is one of more than ${limits.sbomPackagesMax} packages`);
      if (known) known.add(version);
      else versions.set(name, new Set([version]));
    },
  };
};

/** Returns text such as {"pkg:deb/debian/bash?distro=debian-12": "5.2.15-2", "pkg:npm/ms": ["2.0.0", "2.1.3"]}. */
export const packagesText = ({ versions }: Packages): string =>
  JSON.stringify(
    Object.fromEntries(
      [...versions]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, each]): [string, string | string[]] => {
          const [only = "", ...others] = [...each].sort();
          return [name, others.length === 0 ? only : [only, ...others]];
        }),
    ),
  );
