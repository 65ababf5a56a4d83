// Ruby's installed gems: specifications/NAME-VERSION.gemspec, as RubyGems writes them. It is Ruby code, which is not run.

import { type FoundPackage, plainPackage } from "../found-package.ts";

export const isGemSpecification = (path: string): boolean => /(?:^|\/)specifications\/(?:default\/)?[^/]+\.gemspec$/.test(path);

const nameForm = /^[ \t]*s\.name = ["']([^"'\n]+)["']/m;
const versionForm = /^[ \t]*s\.version = (?:Gem::Version\.new[ (])?["']([^"'\n]+)["']/m;

export const readGem = (bytes: Buffer): FoundPackage[] => {
  const source = bytes.toString("utf8");
  const [, name] = nameForm.exec(source) ?? [];
  const [, version] = versionForm.exec(source) ?? [];
  return name === undefined || version === undefined ? [] : [plainPackage("gem", name, version)];
};
