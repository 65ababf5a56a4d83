// Findings of an image, each with the layer that has the package.

import type { ReactNode } from "react";
import type { Finding, ImagePackage, RequestedImage } from "../../../client/package.ts";
import { decoded, positionIn, useAddress, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { BaseImageLink, findingColumns, findingsOf, severities, SeverityCounts, severityIn } from "../findings.tsx";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Empty, Link } from "../parts.tsx";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/images.ts";
import { type ImageRef, packagesNamed } from "./requests.ts";

/** Stands for the packages of layers that were not read; what was read of the image is said above. */
const notRead = "unknown";

/** What the findings leave out. Without it, no findings would look like a clean image. */
const Judged = ({ images }: { readonly images: readonly RequestedImage[] }): ReactNode => {
  if (images.length === 0 || images.every(({ digest }) => digest === "")) return <p className="notice">{texts.notTagged}</p>;
  const unjudged = images.flatMap((each) => each.unjudged).filter(({ ecosystem }) => ecosystem !== notRead);
  const names = [...new Set(unjudged.map(({ ecosystem, release }) => (release === "" ? ecosystem : `${ecosystem} ${release}`)))];
  const isPending = images.some(({ pending }) => pending);
  if (!isPending && names.length === 0 && images.every((each) => each.unjudged.length === 0)) return <p className="quiet coverage">{texts.imageJudged}</p>;
  if (!isPending && names.length === 0) return <p className="notice">{texts.imageUnread}</p>;
  return (
    <div className="notice" role="status">
      {isPending ? <p>{texts.imagePending}</p> : null}
      {names.length === 0 ? null : (
        <p>
          {texts.imageUnjudged} <bdi>{names.join(", ")}</bdi>
        </p>
      )}
    </div>
  );
};

interface Place {
  readonly layer: string;
  readonly position: number;
}

/** "pkg:npm/%40babel/core?…": "pkg:npm/%40babel/core" */
const withoutQualifiers = (text: string): string => text.split("?", 1)[0] ?? "";

/** Names that the packages of an image can have for the name of a finding, which can be a package URL without a version. */
const namesFor = (packageName: string): string[] => {
  if (!packageName.startsWith("pkg:")) return [packageName];
  const [, ...path] = withoutQualifiers(packageName).split("/").map(decoded);
  return [path.join("/"), path.join(":"), path.at(-1) ?? ""];
};

const isPackageOf = ({ packageName, installedVersion }: Finding, { name, version, purl }: ImagePackage): boolean => {
  if (version !== installedVersion) return false;
  return packageName.startsWith("pkg:") ? withoutQualifiers(purl).startsWith(`${withoutQualifiers(packageName)}@`) : name === packageName;
};

/** The layers that have the package of a finding. */
const layersOf = (finding: Finding, packages: readonly ImagePackage[]): readonly Place[] => {
  const places = packages
    .filter((each) => each.layer !== "" && isPackageOf(finding, each))
    .map(({ layer, layerPosition }): [string, Place] => [layer, { layer, position: layerPosition }]);
  return [...new Map(places).values()];
};

export const ImageFindings = ({ image }: { readonly image: ImageRef }): ReactNode => {
  const url = useAddress();
  const severity = severityIn(url);
  const request = {
    images: [`${image.repoUid}@${image.digest}`],
    ...(severity === undefined ? {} : { minSeverity: severities[severity] }),
    orderBy: "severity desc",
  };
  const result = useAsk(findingsOf(request, positionIn(url, "skip")));
  const { findings = [], summary } = result.data?.data ?? {};
  const names = [...new Set(findings.flatMap(({ packageName }) => namesFor(packageName)))].sort();
  const packages = useAsk(names.length > 0 ? packagesNamed(image, names) : undefined);
  const layerColumn: Column<Finding> = {
    title: texts.layer,
    cell: (finding) => {
      const found = layersOf(finding, packages.data?.data.packages ?? []);
      if (found.length === 0) return <span className="quiet">{packages.isFetching ? texts.loading : texts.unknown}</span>;
      const links = found.map(({ layer, position }) => (
        <Link
          key={layer}
          className="one-line"
          href={withParameters(url, { view: "packages", layer, severity: undefined, skip: undefined })}
          isSamePage
          title={layer}
        >
          {texts.layerNumber(position)}
        </Link>
      ));
      return (
        <>
          {links}
          {finding.fromBaseImage === "FROM_BASE_IMAGE_YES" ? <Badge tone="plain">{texts.baseImage}</Badge> : null}
        </>
      );
    },
  };
  const [base] = findings.flatMap(({ baseImage }) => baseImage ?? []);
  const { vulnerability, severity: severityColumn, packageName, fixedIn, firstSeen } = findingColumns;
  return (
    <>
      {summary ? <Judged images={summary.images} /> : null}
      {summary && summary.severityCounts.length > 0 ? (
        <SeverityCounts counts={summary.severityCounts} addressFor={(each) => withParameters(url, { severity: each, skip: undefined })} />
      ) : null}
      {base === undefined ? null : (
        <p>
          {texts.builtOn} <BaseImageLink base={base} />{" "}
          {base.layerCount === 0 ? <Badge tone="plain">{texts.claimed}</Badge> : `(${texts.layerCount(base.layerCount)})`}
        </p>
      )}
      {severity === undefined ? null : (
        <p>
          {texts.atLeast(texts.severities[severities[severity]])}{" "}
          <Link href={withParameters(url, { severity: undefined, skip: undefined })} isSamePage>
            {texts.showAll}
          </Link>
        </p>
      )}
      <ListSection
        title={texts.findings}
        result={result}
        itemsOf={(data) => data.findings}
        columns={[vulnerability, severityColumn, packageName, layerColumn, fixedIn, firstSeen]}
        count={texts.findingCount}
        parameter="skip"
        empty={
          <Empty icon="shield" title={texts.noFindingsTitle}>
            <p>{texts.noFindingsText}</p>
          </Empty>
        }
      />
      <SameRequest sent={[result.data?.sent, packages.data?.sent]} />
    </>
  );
};
