// The page of a group: the groups and repos in it.

import type { ReactNode } from "react";
import type { Group, Repo } from "../../../client/package.ts";
import { addressOf, positionIn, segmentOf, useAddress } from "../address.ts";
import { useAsk } from "../api.ts";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Command, Empty, Icon, Link, Name, Time } from "../parts.tsx";
import { groupsIn, reposIn } from "../questions.ts";
import { texts } from "../texts/group.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const groupColumns = (names: readonly string[]): readonly Column<Group>[] => [
  {
    title: texts.name,
    cell: (group) => (
      <Link className="with-icon" href={addressOf([...names, segmentOf(group)])}>
        <Icon name="group" />
        <Name>{group.name}</Name>
      </Link>
    ),
  },
  { title: texts.description, cell: ({ description }) => <Name>{description}</Name>, minor: true },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} /> },
];

const repoColumns = (names: readonly string[]): readonly Column<Repo>[] => [
  {
    title: texts.name,
    cell: (repo) => (
      <>
        <Link className="with-icon" href={addressOf(names, "repos", segmentOf(repo))}>
          <Icon name="repo" />
          <Name>{repo.name}</Name>
        </Link>
        {repo.anonymousPull ? <Badge tone="plain">{texts.publicRepo}</Badge> : null}
      </>
    ),
  },
  { title: texts.description, cell: ({ description }) => <Name>{description}</Name>, minor: true },
  { title: texts.updated, cell: ({ updateTime }) => <Time time={updateTime} /> },
];

export const GroupPage = ({ names, path }: GroupPageProps): ReactNode => {
  const group = path.at(-1);
  const url = useAddress();
  const uid = group?.uid ?? "";
  const groups = useAsk(groupsIn(uid, positionIn(url, "groups")));
  const repos = useAsk(reposIn(uid, positionIn(url, "repos")));
  const registryPath = `${location.host}/${path.map(({ name }) => name).join("/")}/app:1.0`;
  return (
    <GroupFrame names={names} path={path} current="overview" sent={[repos.data?.sent, groups.data?.sent]}>
      <ListSection
        title={texts.repos}
        result={repos}
        itemsOf={(data) => data.repos}
        columns={repoColumns(names)}
        count={texts.repoCount}
        parameter="repos"
        empty={
          <Empty icon="repo" title={texts.noReposTitle}>
            <p>{texts.noReposText}</p>
            <Command text={`docker push ${registryPath}`} what={texts.noReposText} />
          </Empty>
        }
      />
      <ListSection
        title={texts.groups}
        result={groups}
        itemsOf={(data) => data.groups}
        columns={groupColumns(names)}
        count={texts.groupCount}
        parameter="groups"
        empty={
          <Empty icon="group" title={texts.noGroupsTitle}>
            <p>{texts.noGroupsText}</p>
          </Empty>
        }
      />
    </GroupFrame>
  );
};
