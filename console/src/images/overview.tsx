// What an image is: its platforms, its SBOM, how to pull it.

import { type ReactNode, useId, useState } from "react";
import type { FindImagePackagesResponse, ImageContents, ImageSbomFormat } from "../../../client/package.ts";
import { useAddress, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { sizeText } from "../format.ts";
import { Command, Digest, Failure, Icon, Link, Name, Section, Skeleton, Time } from "../parts.tsx";
import { imageSize } from "../questions.ts";
import { useSend } from "../send.ts";
import { texts } from "../texts/images.ts";
import { StateBadge } from "./coverage.tsx";
import { type ImageRef, noFilter, packagesOf, platformOf, sbomOf } from "./requests.ts";

/** No packages in what was not read means that they are unknown. */
const packagesText = ({ state, totalCount }: FindImagePackagesResponse): string =>
  Number(totalCount ?? 0) > 0 || state === "IMAGE_CONTENTS_STATE_INDEXED" ? Number(totalCount ?? 0).toLocaleString("en") : texts.unknown;

interface PlatformRowProps {
  readonly image: ImageRef;
  readonly isCurrent: boolean;
  /** False: shows what is known already. */
  readonly isAsked: boolean;
}

const PlatformRow = ({ image, isCurrent, isAsked }: PlatformRowProps): ReactNode => {
  const url = useAddress();
  // The page has asked for the current platform already.
  const found = useAsk(isCurrent ? packagesOf(image, noFilter, 0) : platformOf(image), { onlyKnown: !isAsked });
  const size = useAsk(imageSize(image.repoUid, image.digest, image.architecture), { onlyKnown: !isAsked });
  const name = image.architecture ?? texts.onlyPlatform;
  const data = found.data?.data;
  const waiting = isAsked && !found.error ? texts.loading : "";
  return (
    <tr>
      <th scope="row">
        {isCurrent ? (
          <strong>
            <Name>{name}</Name>
          </strong>
        ) : (
          <Link href={withParameters(url, { arch: image.architecture, skip: undefined })} isSamePage>
            <Name>{name}</Name>
          </Link>
        )}
      </th>
      <td>{data ? <StateBadge state={data.state} /> : <span className="quiet">{found.error ? texts.unknown : waiting}</span>}</td>
      <td className="number minor">{data ? packagesText(data) : null}</td>
      <td className="number">{size.data ? sizeText(Number(size.data.data.size)) : null}</td>
      <td className="minor">{data ? <Digest digest={data.digest} /> : null}</td>
    </tr>
  );
};

interface PlatformsProps {
  readonly image: ImageRef;
  readonly architectures: readonly string[];
  readonly current: string | undefined;
}

export const Platforms = ({ image, architectures, current }: PlatformsProps): ReactNode => {
  const [isAsked, setAsked] = useState(false);
  const rows = architectures.length === 0 ? [undefined] : architectures;
  return (
    <Section
      title={texts.platforms}
      count={texts.platformCount(rows.length)}
      action={
        isAsked ? undefined : (
          <button type="button" className="button" onClick={() => setAsked(true)}>
            {texts.showSizes}
          </button>
        )
      }
    >
      <table>
        <caption className="unseen">{texts.platforms}</caption>
        <thead>
          <tr>
            <th scope="col">{texts.platform}</th>
            <th scope="col">{texts.contents}</th>
            <th scope="col" className="number minor">
              {texts.packages}
            </th>
            <th scope="col" className="number">
              {texts.layerSize}
            </th>
            <th scope="col" className="minor">
              {texts.digest}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((architecture) => {
            const isCurrent = architecture === current || architecture === undefined;
            return <PlatformRow key={architecture ?? ""} image={{ ...image, architecture }} isCurrent={isCurrent} isAsked={isAsked} />;
          })}
        </tbody>
      </table>
    </Section>
  );
};

const formats = {
  IMAGE_SBOM_FORMAT_SPDX_2_3: { title: "SPDX 2.3", ending: "spdx.json" },
  IMAGE_SBOM_FORMAT_SPDX_3_0: { title: "SPDX 3.0", ending: "spdx3.json" },
  IMAGE_SBOM_FORMAT_CYCLONEDX_1_6: { title: "CycloneDX 1.6", ending: "cdx.json" },
} as const;
type Format = keyof typeof formats & ImageSbomFormat;
const formatNames: readonly Format[] = ["IMAGE_SBOM_FORMAT_SPDX_2_3", "IMAGE_SBOM_FORMAT_SPDX_3_0", "IMAGE_SBOM_FORMAT_CYCLONEDX_1_6"];

/** Saves a text as a file of the browser's user. */
const save = (name: string, content: string): void => {
  const address = URL.createObjectURL(new Blob([content], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
};

const fileName = (repo: string, digest: string, ending: string): string => `${repo.replaceAll(/[^\w.-]/g, "_")}-${digest.slice(7, 19)}.${ending}`;

export const SbomDownload = ({ image, repo }: { readonly image: ImageRef; readonly repo: string }): ReactNode => {
  const id = useId();
  const [format, setFormat] = useState<Format>("IMAGE_SBOM_FORMAT_SPDX_2_3");
  const { problems, isSending, send } = useSend([], { isRead: true });
  const download = async (): Promise<void> => {
    if (isSending) return;
    const answer = await send(sbomOf(image, format));
    if (answer) save(fileName(repo, answer.data.digest, formats[format].ending), answer.data.document);
  };
  return (
    <>
      <div className="sbom">
        <label htmlFor={id}>{texts.sbom}</label>
        <select id={id} value={format} onChange={({ target }) => setFormat(formatNames.find((each) => each === target.value) ?? format)}>
          {formatNames.map((each) => (
            <option key={each} value={each}>
              {formats[each].title}
            </option>
          ))}
        </select>
        <button type="button" className="button" aria-disabled={isSending} onClick={() => void download()}>
          <Icon name="download" />
          {texts.download}
        </button>
      </div>
      {problems.message === "" ? null : (
        <p className="problem" role="alert">
          {problems.message}
        </p>
      )}
    </>
  );
};

interface OverviewProps {
  readonly image: ImageRef;
  readonly repo: string;
  readonly reference: string;
  readonly architectures: readonly string[];
  readonly current: string | undefined;
  readonly contents: ImageContents | undefined;
  readonly found: FindImagePackagesResponse | undefined;
  readonly error: unknown;
}

export const Overview = ({ image, repo, reference, architectures, current, contents, found, error }: OverviewProps): ReactNode => (
  <>
    <Section title={texts.aboutImage}>
      {error ? (
        <Failure error={error} />
      ) : found === undefined ? (
        <Skeleton rows={3} />
      ) : (
        <div className="details">
          <dl>
            <dt>{texts.digest}</dt>
            <dd>
              <code className="long">{image.digest}</code>
            </dd>
            <dt>{texts.platform}</dt>
            <dd>
              <Name>{contents?.platform || current || texts.unknown}</Name>
            </dd>
            <dt>{texts.operatingSystem}</dt>
            <dd>
              <Name>{contents?.operatingSystem?.name || contents?.operatingSystem?.id || texts.noOperatingSystem}</Name>
            </dd>
            <dt>{texts.packages}</dt>
            <dd>{packagesText(found)}</dd>
            <dt>{texts.pushed}</dt>
            <dd>
              <Time time={contents?.createTime} />
            </dd>
          </dl>
        </div>
      )}
      <div className="section-body">
        <h3>{texts.pullCommand}</h3>
        <Command text={`docker pull ${reference}@${image.digest}`} what={texts.pullCommand} />
        <SbomDownload image={image} repo={repo} />
      </div>
    </Section>
    <Platforms image={image} architectures={architectures} current={current} />
  </>
);
