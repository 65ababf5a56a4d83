// The page of a repo: its tags, and the details of one.

import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Repo, Tag } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { ActionButton, actionParameter, useAction } from "../action.tsx";
import { addressOf, navigate, positionIn, replaceAddress, segmentOf, useAddress, withParameter, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { Edit } from "../edit.tsx";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Command, Copy, Digest, Empty, Failure, Icon, Link, Name, NotFound, Skeleton, Time, usePageTitle } from "../parts.tsx";
import { architectures, type Place, repoAt, tagsIn } from "../questions.ts";
import { EditRepoForm, ReadmeForm, ReadmeText } from "../repos/forms.tsx";
import { deleteRepo, deleteTag, readmeVersion, repoVersion, tagVersion } from "../repos/requests.ts";
import { MoveForm, PromoteForm } from "../repos/tag-forms.tsx";
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
  readonly own: ReadonlySet<string>;
}

/** In the repo that the image is promoted from. */
const promoting = ["manifest.list", "repo.blobs.get", "referrers.list"] as const;
const mayPromote = (own: ReadonlySet<string>): boolean => promoting.every((name) => own.has(name));
const changing = ["repo.update", "repo.delete", "tag.update", "tag.delete"] as const;

const Details = ({ repo, tag, reference, imageAddress, own }: DetailsProps): ReactNode => {
  const url = useAddress();
  const action = useAction();
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
      <p className="details-note states">
        <Link className="button" href={imageAddress}>
          {texts.openImage}
        </Link>
        {own.has("tag.update") ? <ActionButton icon="move" title={texts.move} onClick={() => action.open("move-tag")} /> : null}
        {mayPromote(own) ? <ActionButton icon="promote" title={texts.promote} onClick={() => action.open("promote")} /> : null}
        {own.has("tag.delete") ? <ActionButton icon="trash" title={texts.delete} onClick={() => action.open("delete-tag")} /> : null}
      </p>
      <SameRequest sent={[platforms.data?.sent]} />
    </section>
  );
};

interface TagDialogsProps {
  readonly repo: Repo;
  readonly tag: Tag;
  readonly own: ReadonlySet<string>;
}

const TagDialogs = ({ repo, tag, own }: TagDialogsProps): ReactNode => {
  const url = useAddress();
  const { current, close } = useAction();
  if (current === "move-tag" && own.has("tag.update"))
    return (
      <Edit
        title={texts.moveTag}
        read={tagVersion(tag.uid)}
        form={(version) => <MoveForm repo={repo.uid} version={version} onClose={close} />}
        onClose={close}
      />
    );
  if (current === "promote" && mayPromote(own)) return <PromoteForm repo={repo} tag={tag} onClose={close} />;
  if (current !== "delete-tag" || !own.has("tag.delete")) return null;
  return (
    <Confirm
      title={texts.deleteTag}
      about={<Name>{`${repo.name}:${tag.name}`}</Name>}
      effect={texts.deleteTagText}
      question={deleteTag(tag.uid)}
      done={texts.tagDeleted}
      deletes={tag}
      onClose={close}
      onDone={() => replaceAddress(withParameters(url, { tag: undefined, [actionParameter]: undefined }))}
    />
  );
};

interface ContentProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
  readonly repo: Repo;
  readonly own: ReadonlySet<string>;
}

const RepoDialogs = ({
  names,
  repo,
  own,
  segment,
  tagCount,
}: Omit<ContentProps, "path"> & { readonly segment: string; readonly tagCount: number }): ReactNode => {
  const { current, close } = useAction();
  if (current === "edit" && own.has("repo.update"))
    return (
      <Edit
        title={texts.editRepo}
        read={repoVersion(repo.uid)}
        form={(version) => <EditRepoForm version={version} names={names} segment={segment} mayPublish={own.has("role_bindings.create")} onClose={close} />}
        onClose={close}
      />
    );
  if (current === "readme")
    return (
      <Edit
        title={texts.readme}
        read={readmeVersion(repo.uid)}
        form={(version) => (own.has("repo.update") ? <ReadmeForm version={version} onClose={close} /> : <ReadmeText version={version} onClose={close} />)}
        onClose={close}
      />
    );
  if (current !== "delete" || !own.has("repo.delete")) return null;
  return (
    <Confirm
      title={texts.deleteRepo}
      about={<Name>{repo.name}</Name>}
      effect={`${texts.deleteRepoText(tagCount)} ${texts.undoLater}`}
      question={deleteRepo(repo.uid)}
      done={texts.repoDeleted}
      deletes={repo}
      next={addressOf(names)}
      onClose={close}
    />
  );
};

const Content = ({ names, path, repo, own, segment }: ContentProps & { readonly segment: string }): ReactNode => {
  const url = useAddress();
  const result = useAsk(tagsIn(repo.uid, positionIn(url, "skip")));
  const reference = `${location.host}/${[...path, repo].map(({ name }) => name).join("/")}`;
  const open = url.searchParams.get("tag");
  const tag = result.data?.data.tags.find(({ name }) => name === open);
  const lacking = own.size === 0 ? [] : changing.filter((name) => !own.has(name));
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
      {lacking.length === 0 ? null : <p className="quiet">{texts.writesNeed(lacking)}</p>}
      {tag ? <Details key={tag.uid} repo={repo} tag={tag} reference={reference} imageAddress={addressOfImage(tag.digest)} own={own} /> : null}
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
      {tag ? <TagDialogs repo={repo} tag={tag} own={own} /> : null}
      <RepoDialogs names={names} repo={repo} own={own} segment={segment} tagCount={Number(result.data?.data.totalCount ?? 0)} />
    </>
  );
};

export const RepoPage = ({ names, path, repo: name }: RepoPageProps): ReactNode => {
  usePageTitle(name);
  const found = useAsk(repoAt(path.at(-1)?.uid ?? "", name));
  const repo = found.data?.data;
  const action = useAction();
  const [isAsked, setAsked] = useState(false);
  // An open tag asks for its platforms instead: a page sends four requests.
  const isDeferred = useAddress().searchParams.has("tag") && action.current === undefined && !isAsked;
  const rights = useAsk(repo ? mine(repo.uid) : undefined, { onlyKnown: isDeferred }).data;
  const own = new Set(rights?.data.capabilities);
  const heading = useRef<HTMLHeadingElement>(null);
  const showActions = (): void => {
    setAsked(true);
    // The button goes.
    heading.current?.focus();
  };
  if (found.error) return <Failure error={found.error} retry={() => void found.refetch()} />;
  if (found.data && !repo) return <NotFound />;
  return (
    <>
      <div className="heading">
        <h1 tabIndex={-1} ref={heading}>
          <Name>{repo?.name ?? name}</Name>
        </h1>
        {repo?.anonymousPull ? <Badge tone="plain">{texts.publicRepo}</Badge> : null}
        {repo ? <Copy text={repo.uid} what="uid" /> : null}
        <span className="heading-actions">
          {own.has("repo.update") ? <ActionButton icon="edit" title={texts.edit} onClick={() => action.open("edit")} /> : null}
          {repo ? <ActionButton icon="book" title={texts.readme} onClick={() => action.open("readme")} /> : null}
          {own.has("repo.delete") ? <ActionButton icon="trash" title={texts.delete} onClick={() => action.open("delete")} /> : null}
          {isDeferred && !rights ? <ActionButton icon="edit" title={texts.showActions} onClick={showActions} /> : null}
        </span>
      </div>
      {repo ? <Content names={names} path={path} repo={repo} own={own} segment={name} /> : <Skeleton />}
    </>
  );
};
