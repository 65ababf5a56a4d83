// Tags that point at an image, and the earlier digests of one of them.

import type { ReactNode } from "react";
import type { Tag, TagHistoryEntry } from "../../../client/package.ts";
import { imageAddress, positionIn, useAddress, withParameter } from "../address.ts";
import { useAsk } from "../api.ts";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Copy, Digest, Empty, Failure, Link, Name, Section, Skeleton, Table, Time } from "../parts.tsx";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/images.ts";
import { historyOf, type ImageRef, tagsOfImage } from "./requests.ts";

type Row = TagHistoryEntry & { readonly uid: string };

const historyColumns = (repoUid: string, digest: string): readonly Column<Row>[] => [
  {
    title: texts.digest,
    cell: (entry) => (
      <>
        <Digest digest={entry.digest} {...(entry.digest === digest ? {} : { href: imageAddress(repoUid, entry.digest) })} />
        {entry.digest === digest ? <Badge tone="plain">{texts.thisImage}</Badge> : null}
      </>
    ),
  },
  { title: texts.from, cell: ({ updateTime }) => <Time time={updateTime} /> },
  { title: texts.until, cell: ({ endTime }) => (endTime === undefined ? <span className="quiet">{texts.now}</span> : <Time time={endTime} />), minor: true },
];

const History = ({ image, tag }: { readonly image: ImageRef; readonly tag: Tag }): ReactNode => {
  const result = useAsk(historyOf(tag.uid));
  const entries = result.data?.data.entries.map((each, index): Row => ({ ...each, uid: String(index) }));
  return (
    <Section title={texts.historyOf(tag.name)} count={entries ? texts.digestCount(entries.length) : undefined}>
      {result.error ? <Failure error={result.error} retry={() => void result.refetch()} /> : null}
      {entries ? <Table caption={texts.historyOf(tag.name)} columns={historyColumns(image.repoUid, image.digest)} items={entries} /> : null}
      {entries || result.error ? null : <Skeleton rows={2} />}
    </Section>
  );
};

export const Tags = ({ image, reference }: { readonly image: ImageRef; readonly reference: string }): ReactNode => {
  const url = useAddress();
  const result = useAsk(tagsOfImage(image.repoUid, image.digest, positionIn(url, "skip")));
  const open = result.data?.data.tags.find(({ name }) => name === url.searchParams.get("tag"));
  const columns: readonly Column<Tag>[] = [
    {
      title: texts.tag,
      cell: ({ name, deprecated }) => (
        <>
          <Name>{name}</Name>
          {deprecated ? <Badge tone="warn">{texts.deprecated}</Badge> : null}
        </>
      ),
    },
    { title: texts.updated, cell: ({ updateTime }) => <Time time={updateTime} />, minor: true },
    {
      title: texts.history,
      cell: ({ name }) => (
        <Link href={withParameter(url, "tag", name)} isSamePage aria-label={texts.historyOf(name)} aria-current={name === open?.name ? "true" : undefined}>
          {texts.history}
        </Link>
      ),
    },
    { title: texts.pull, cell: ({ name }) => <Copy text={`docker pull ${reference}:${name}`} what={`${texts.pullCommand}: ${name}`} /> },
  ];
  return (
    <>
      <ListSection
        title={texts.tags}
        result={result}
        itemsOf={(data) => data.tags}
        columns={columns}
        count={texts.tagCount}
        parameter="skip"
        empty={
          <Empty icon="tag" title={texts.untaggedTitle}>
            <p>{texts.untaggedText}</p>
          </Empty>
        }
      />
      {open ? <History key={open.uid} image={image} tag={open} /> : null}
      <SameRequest sent={[result.data?.sent]} />
    </>
  );
};
