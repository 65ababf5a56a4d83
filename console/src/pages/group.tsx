// The page of a group: the groups and repos in it.

import type { ReactNode } from "react";
import type { Group, Repo } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { ActionButton, useAction } from "../action.tsx";
import { addressOf, positionIn, root, segmentOf, useAddress } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { Edit } from "../edit.tsx";
import { EditGroupForm, NewGroupForm } from "../groups/forms.tsx";
import { deleteGroup, groupVersion } from "../groups/requests.ts";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Command, Empty, Icon, Link, Name, Time } from "../parts.tsx";
import { groupsIn, reposIn } from "../questions.ts";
import { NewRepoForm } from "../repos/forms.tsx";
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

const changing = ["groups.create", "groups.update", "groups.delete", "repo.create"] as const;

export const GroupPage = ({ names, path }: GroupPageProps): ReactNode => {
  const group = path.at(-1);
  const url = useAddress();
  const action = useAction();
  const uid = group?.uid ?? "";
  const own = new Set(useAsk(mine(uid)).data?.data.capabilities);
  const groups = useAsk(groupsIn(uid, positionIn(url, "groups")));
  const repos = useAsk(reposIn(uid, positionIn(url, "repos")));
  const registryPath = `${location.host}/${path.map(({ name }) => name).join("/")}/app:1.0`;
  const lacking = own.size === 0 ? [] : changing.filter((name) => !own.has(name));
  const may = (name: (typeof changing)[number]): boolean => own.has(name);
  const isOrganization = !uid.includes("/");
  const groupCount = Number(groups.data?.data.totalCount ?? 0);
  const repoCount = Number(repos.data?.data.totalCount ?? 0);
  const addButton = (name: string, title: string): ReactNode => (
    <button type="button" className="button" onClick={() => action.open(name)}>
      <Icon name="plus" />
      {title}
    </button>
  );
  return (
    <GroupFrame
      names={names}
      path={path}
      current="overview"
      sent={[repos.data?.sent, groups.data?.sent]}
      actions={
        <span className="heading-actions">
          {may("groups.update") ? <ActionButton icon="edit" title={texts.edit} onClick={() => action.open("edit")} /> : null}
          {may("groups.delete") ? <ActionButton icon="trash" title={texts.delete} onClick={() => action.open("delete")} /> : null}
        </span>
      }
    >
      {lacking.length === 0 ? null : <p className="quiet">{texts.writesNeed(lacking)}</p>}
      <ListSection
        title={texts.repos}
        action={may("repo.create") ? addButton("new-repo", texts.newRepo) : undefined}
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
        action={may("groups.create") ? addButton("new-group", texts.newGroup) : undefined}
        result={groups}
        itemsOf={(data) => data.groups}
        columns={groupColumns(names)}
        count={texts.groupCount}
        parameter="groups"
        empty={
          <Empty icon="group" title={texts.noGroupsTitle}>
            <p>
              {texts.noGroupsText} {may("groups.create") ? texts.newGroupHint : ""}
            </p>
          </Empty>
        }
      />
      {action.current === "new-repo" && may("repo.create") ? <NewRepoForm parent={uid} names={names} onClose={action.close} /> : null}
      {action.current === "new-group" && may("groups.create") ? <NewGroupForm parent={uid} names={names} onClose={action.close} /> : null}
      {action.current === "edit" && may("groups.update") ? (
        <Edit
          title={texts.editGroup}
          read={groupVersion(uid)}
          form={(version) => (
            <EditGroupForm version={version} names={names} mayApprove={isOrganization && own.has("advisories.approve")} onClose={action.close} />
          )}
          onClose={action.close}
        />
      ) : null}
      {action.current === "delete" && may("groups.delete") ? (
        <Confirm
          title={texts.deleteGroup}
          about={<Name>{group?.name ?? ""}</Name>}
          effect={
            groupCount + repoCount > 0
              ? texts.stillHas(groupCount, repoCount)
              : `${texts.deleteGroupText} ${isOrganization ? texts.undoByOperator : texts.undoLater}`
          }
          question={deleteGroup(uid)}
          done={texts.groupDeleted}
          {...(isOrganization ? {} : { deletes: { uid, name: group?.name ?? "" } })}
          next={names.length > 1 ? addressOf(names.slice(0, -1)) : root}
          onClose={action.close}
        />
      ) : null}
    </GroupFrame>
  );
};
