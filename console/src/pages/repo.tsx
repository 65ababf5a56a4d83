// The page of a repo: its tags, and the details of one.

import { type ReactNode, useEffect, useRef } from "react";
import type { Repo, Tag } from "../../../client/package.ts";
import { addressOf, navigate, positionIn, segmentOf, useAddress, withParameter } from "../address.ts";
import { useAsk } from "../api.ts";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Command, Copy, Digest, Empty, Failure, Icon, Link, Name, NotFound, Skeleton, Time, usePageTitle } from "../parts.tsx";
import { architectures, type Place, repoAt, tagsIn } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/images.ts";

interface RepoPageProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
  readonly repo: string;
}

interface DetailsProps {
  readonly repo: Repo;
  readonly tag: Tag;
  readonly reference: string;
  readonly imageAddress: string;
}

const Details = ({ repo, tag, reference, imageAddress }: DetailsProps): ReactNode => {
  const url = useAddress();
  const platforms = useAsk(architectures(repo.uid, tag.digest));
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section className="card details" aria-label={texts.details(tag.name)}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          <Name>{tag.name}</Name>
        </h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={() => navigate(withParameter(url, "tag", undefined))}>
          <Icon name="close" />
        </button>
      </header>
      <dl>
        <dt>{texts.digest}</dt>
        <dd>
          <Digest digest={tag.digest} />
        </dd>
        <dt>{texts.platforms}</dt>
        <dd>{platforms.data ? platforms.data.data.architectures.join(", ") || texts.unknownSize : platforms.error ? texts.unknownSize : texts.loading}</dd>
        <dt>{texts.created}</dt>
        <dd>
          <Time time={tag.createTime} />
        </dd>
      </dl>
      <h3>{texts.pullCommand}</h3>
      <Command text={`docker pull ${reference}:${tag.name}`} what={texts.pullCommand} />
      <h3>{texts.byDigest}</h3>
      <Command text={`docker pull ${reference}@${tag.digest}`} what={texts.byDigest} />
      <p className="details-note">
        <Link className="button" href={imageAddress}>
          {texts.openImage}
        </Link>
      </p>
      <SameRequest sent={[platforms.data?.sent]} />
    </section>
  );
};

interface TagsProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
  readonly repo: Repo;
}

const Tags = ({ names, path, repo }: TagsProps): ReactNode => {
  const url = useAddress();
  const result = useAsk(tagsIn(repo.uid, positionIn(url, "skip")));
  const reference = `${location.host}/${[...path, repo].map(({ name }) => name).join("/")}`;
  const open = url.searchParams.get("tag");
  const tag = result.data?.data.tags.find(({ name }) => name === open);
  const addressOfImage = (digest: string): string => addressOf(names, "repos", segmentOf(repo), "images", digest);
  const columns: readonly Column<Tag>[] = [
    {
      title: texts.tag,
      cell: (each) => (
        <>
          <Link href={withParameter(url, "tag", each.name)}>
            <Name>{each.name}</Name>
          </Link>
          {each.deprecated ? <Badge tone="warn">{texts.deprecated}</Badge> : null}
        </>
      ),
    },
    { title: texts.digest, cell: (each) => <Digest digest={each.digest} href={addressOfImage(each.digest)} /> },
    { title: texts.updated, cell: (each) => <Time time={each.updateTime} />, minor: true },
    { title: texts.pull, cell: (each) => <Copy text={`docker pull ${reference}:${each.name}`} what={`${texts.pullCommand}: ${each.name}`} /> },
  ];
  return (
    <>
      {repo.description === "" ? null : (
        <p className="lead">
          <Name>{repo.description}</Name>
        </p>
      )}
      <p className="reference">
        <span className="quiet">{texts.reference}</span> <code>{reference}</code> <Copy text={reference} what={texts.reference} />{" "}
        <Link href={`${addressOf(names, "rules")}?repo=${encodeURIComponent(segmentOf(repo))}`}>{texts.tagRules}</Link>
      </p>
      {tag ? <Details key={tag.uid} repo={repo} tag={tag} reference={reference} imageAddress={addressOfImage(tag.digest)} /> : null}
      <ListSection
        title={texts.tags}
        result={result}
        itemsOf={(data) => data.tags}
        columns={columns}
        count={texts.tagCount}
        parameter="skip"
        empty={
          <Empty icon="repo" title={texts.noTagsTitle}>
            <p>{texts.noTagsText}</p>
            <Command text={`docker push ${reference}:1.0`} what={texts.noTagsText} />
          </Empty>
        }
      />
      <SameRequest sent={[result.data?.sent]} />
    </>
  );
};

export const RepoPage = ({ names, path, repo: name }: RepoPageProps): ReactNode => {
  usePageTitle(name);
  const found = useAsk(repoAt(path.at(-1)?.uid ?? "", name));
  if (found.error) return <Failure error={found.error} retry={() => void found.refetch()} />;
  const repo = found.data?.data;
  if (found.data && !repo) return <NotFound />;
  return (
    <>
      <div className="heading">
        <h1 tabIndex={-1}>
          <Name>{repo?.name ?? name}</Name>
        </h1>
        {repo?.anonymousPull ? <Badge tone="plain">{texts.publicRepo}</Badge> : null}
        {repo ? <Copy text={repo.uid} what="uid" /> : null}
      </div>
      {repo ? <Tags names={names} path={path} repo={repo} /> : <Skeleton />}
    </>
  );
};
