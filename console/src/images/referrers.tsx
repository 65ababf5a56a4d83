// Signatures, attestations and SBOMs that were pushed for an image.

import type { ReactNode } from "react";
import type { Tag } from "../../../client/package.ts";
import { useAsk } from "../api.ts";
import { sizeText } from "../format.ts";
import { Badge, type Column, Digest, Empty, Failure, Name, Section, Skeleton, Table, Time } from "../parts.tsx";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/images.ts";
import { type Referrer, referrersOf } from "./registry.ts";
import { type ImageRef, tagNamed } from "./requests.ts";

const columns: readonly Column<Referrer>[] = [
  { title: texts.kind, cell: ({ kind }) => <Badge tone="plain">{texts.referrerKinds[kind]}</Badge> },
  {
    title: texts.mediaType,
    cell: ({ type }) => (
      <span className="long">
        <Name>{type}</Name>
      </span>
    ),
  },
  { title: texts.digest, cell: ({ digest }) => <Digest digest={digest} />, minor: true },
  { title: texts.layerSize, cell: ({ sizeBytes }) => (sizeBytes === 0 ? <span className="quiet">{texts.unknown}</span> : sizeText(sizeBytes)), minor: true },
  {
    title: texts.created,
    cell: ({ createTime }) => (createTime === "" ? <span className="quiet">{texts.unknown}</span> : <Time time={createTime} />),
    minor: true,
  },
];

/** Tools without the referrers API store signatures and attestations as tags with these endings. */
const referrerOfTag = (tag: Tag | undefined, kind: Referrer["kind"]): Referrer[] =>
  tag ? [{ uid: tag.uid, digest: tag.digest, type: tag.name, kind, sizeBytes: 0, createTime: tag.createTime ?? tag.updateTime ?? "" }] : [];

export const Referrers = ({ image }: { readonly image: ImageRef }): ReactNode => {
  const { repoUid, digest } = image;
  const prefix = digest.replace(":", "-");
  const found = useAsk(referrersOf(repoUid, digest));
  const signature = useAsk(tagNamed(repoUid, `${prefix}.sig`));
  const attestation = useAsk(tagNamed(repoUid, `${prefix}.att`));
  const all = [
    ...referrerOfTag(signature.data?.data.tags[0], "signature"),
    ...referrerOfTag(attestation.data?.data.tags[0], "attestation"),
    ...(found.data?.data ?? []),
  ];
  const isReady = found.data !== undefined && signature.data !== undefined && attestation.data !== undefined;
  const error = found.error ?? signature.error ?? attestation.error;
  const body = (): ReactNode => {
    if (error) return <Failure error={error} retry={() => void Promise.all([found.refetch(), signature.refetch(), attestation.refetch()])} />;
    if (!isReady) return <Skeleton />;
    if (all.length > 0) return <Table caption={texts.signatures} columns={columns} items={all} />;
    return (
      <Empty icon="key" title={texts.noReferrersTitle}>
        <p>{texts.noReferrersText}</p>
        <a className="button" href="/docs/how-to/charts-and-signatures">
          {texts.signImages}
        </a>
      </Empty>
    );
  };
  return (
    <>
      <Section title={texts.signatures} count={isReady ? texts.referrerCount(all.length) : undefined}>
        <p className="about section-about">{texts.notVerified}</p>
        {body()}
      </Section>
      <SameRequest sent={[signature.data?.sent, attestation.data?.sent]} />
    </>
  );
};
