// Findings grouped by what they have in common.

import type { ReactNode } from "react";
import type { FindingGroup, GroupFindingsRequest, GroupFindingsResponse } from "../../client/package.ts";
import { advisoryAddress, imageAddress } from "./address.ts";
import type { Question } from "./api.ts";
import { addressOfBase, Severity } from "./findings.tsx";
import { Badge, type Column, Link, Name, Time } from "./parts.tsx";
import { pageFrom } from "./questions.ts";
import { texts } from "./texts/findings.ts";

/** By their word in the address. */
export const groupings = {
  vulnerability: "FINDING_GROUP_BY_VULNERABILITY",
  package: "FINDING_GROUP_BY_PACKAGE",
  image: "FINDING_GROUP_BY_IMAGE",
  base: "FINDING_GROUP_BY_BASE_IMAGE",
} as const;
export type GroupingName = keyof typeof groupings;
export const groupingNames: readonly GroupingName[] = ["vulnerability", "package", "image", "base"];

export const groupsOfFindings = (wanted: Omit<GroupFindingsRequest, "skip">, skip: number): Question<GroupFindingsResponse> => {
  const request = { ...pageFrom(skip), ...wanted };
  return { name: "findings.group", request, send: (gantry, signal) => gantry.findings.group(request, { signal }) };
};

const addressOfGroup = ({ vulnerability, repoUid, digest, baseImage }: FindingGroup): string | undefined => {
  if (vulnerability !== "") return advisoryAddress(vulnerability);
  if (baseImage !== undefined) return addressOfBase(baseImage);
  return repoUid === "" || digest === "" ? undefined : imageAddress(repoUid, digest);
};

const number = (count: string): string => Number(count).toLocaleString("en");

/** A row of the table. */
export type GroupRow = FindingGroup & { readonly uid: string };

/** `addressOfPackage` leads to the findings in a package. */
export const groupColumns = (by: GroupingName, addressOfPackage: (name: string) => string): readonly Column<GroupRow>[] => [
  {
    title: texts.groupings[by],
    cell: (group) => {
      const href = group.packageName === "" ? addressOfGroup(group) : addressOfPackage(group.packageName);
      const isUnknown = by === "base" && group.baseImage === undefined;
      const name: ReactNode = isUnknown ? <span className="quiet">{texts.unknownBase}</span> : <Name>{group.label}</Name>;
      return (
        <span className="long">
          {href === undefined ? (
            name
          ) : (
            <Link href={href} isSamePage={group.packageName !== ""}>
              {name}
            </Link>
          )}
          {group.baseImage?.origin === "BASE_IMAGE_ORIGIN_ANNOTATION" ? <Badge tone="plain">{texts.claimed}</Badge> : null}
        </span>
      );
    },
  },
  { title: texts.severity, cell: ({ severity }) => <Severity severity={severity} /> },
  { title: texts.findings, cell: ({ findingCount }) => number(findingCount) },
  { title: texts.images, cell: ({ imageCount }) => number(imageCount), minor: true },
  { title: texts.onlyFixable, cell: ({ fixableCount }) => number(fixableCount), minor: true },
  { title: texts.exploited, cell: ({ exploitedCount }) => number(exploitedCount), minor: true },
  { title: texts.firstSeen, cell: ({ firstCreateTime }) => (firstCreateTime === undefined ? null : <Time time={firstCreateTime} />), minor: true },
];
