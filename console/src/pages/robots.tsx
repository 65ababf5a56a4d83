// Robot accounts of a group and everything below it: identities that machines assume. The open account is in the address.

import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Identity, ListIdentitiesResponse, RelationshipType, RoleBinding } from "../../../client/package.ts";
import { bindingsOf, mine } from "../access/requests.ts";
import { addressOf, isUid, navigate, positionIn, replaceAddress, useAddress, withParameter, withParameters } from "../address.ts";
import { type Question, useAsk } from "../api.ts";
import { EditIdentity } from "../identities/identity-form.tsx";
import { RemoveIdentity } from "../identities/remove-identity.tsx";
import { ListSection } from "../list-section.tsx";
import { type Column, Command, Copy, Empty, Expiry, Failure, Icon, Link, Name, nameOr, Skeleton, Time } from "../parts.tsx";
import { identitiesOf } from "../people/requests.ts";
import { type Names, parentOf, PlaceLink, useNames } from "../places.tsx";
import { Claims } from "../robots/claims.tsx";
import { expiryOf, kindOf, lastUseOf, subjectOf } from "../robots/describe.ts";
import { PresetForm } from "../robots/preset-form.tsx";
import { robotsIn } from "../robots/requests.ts";
import { Setup } from "../robots/setup.tsx";
import { texts } from "../texts/robots.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const LastUse = ({ identity }: { readonly identity: Identity }): ReactNode => {
  const time = lastUseOf(identity);
  return time === undefined ? <span className="quiet">{texts.notUsed}</span> : <Time time={time} />;
};

interface Where {
  /** The group of the page. */
  readonly here: string;
  readonly names: Names;
}

const columnsFor = (url: URL, where: Where): readonly Column<Identity>[] => [
  {
    title: texts.name,
    cell: ({ uid, name, description }) => (
      <>
        <Link href={withParameter(url, "robot", uid)}>
          <Name>{name}</Name>
        </Link>
        {description === "" ? null : (
          <div className="under-badge quiet">
            <Name>{description}</Name>
          </div>
        )}
      </>
    ),
  },
  {
    title: texts.accountFor,
    cell: (identity) => (
      <>
        {texts.systems[kindOf(identity)]}
        <div className="under-badge quiet long">
          <bdi>{kindOf(identity) === "pullToken" ? "" : subjectOf(identity)}</bdi>
        </div>
      </>
    ),
    minor: true,
  },
  { title: texts.inGroup, cell: ({ uid }) => <PlaceLink uid={parentOf(uid)} {...where} />, minor: true },
  { title: texts.lastUse, cell: (identity) => <LastUse identity={identity} /> },
  { title: texts.expires, cell: (identity) => <Expiry time={expiryOf(identity)} /> },
];

const Bindings = ({ bindings }: { readonly bindings: readonly RoleBinding[] }): ReactNode =>
  bindings.length === 0 ? (
    <p className="quiet details-text">{texts.noAccess}</p>
  ) : (
    <ul className="plain-list details-text">
      {bindings.map(({ uid, role, roleUid, group }) => (
        <li key={uid}>
          <span className="role">{nameOr(role?.name ?? "", roleUid)}</span> {texts.roleAt}{" "}
          <Link href={addressOf(parentOf(uid).split("/"), "access")}>{nameOr(group?.name ?? "", parentOf(uid))}</Link>
        </li>
      ))}
    </ul>
  );

interface RobotProps {
  readonly uid: string;
  readonly where: Where;
  readonly capabilities: ReadonlySet<string>;
  readonly onRemoved: () => void;
}

const Robot = ({ identity, where, capabilities, onRemoved }: Omit<RobotProps, "uid"> & { readonly identity: Identity }): ReactNode => {
  const heading = useRef<HTMLHeadingElement>(null);
  const url = useAddress();
  const [isRemoving, setRemoving] = useState(false);
  const bindings = useAsk(bindingsOf(identity.uid));
  const found = bindings.data?.data.roleBindings;
  useEffect(() => heading.current?.focus(), []);
  const mayEdit = capabilities.has("identity.update");
  return (
    <section className="card details" aria-label={identity.name}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          <Name>{identity.name}</Name>
        </h2>
        <span className="actions">
          {mayEdit ? (
            <button type="button" className="button" onClick={() => replaceAddress(withParameter(url, "edit", ""))}>
              <Icon name="edit" />
              {texts.edit}
            </button>
          ) : null}
          {capabilities.has("identity.delete") ? (
            <button type="button" className="button danger" onClick={() => setRemoving(true)}>
              {texts.removeRobot}
            </button>
          ) : null}
        </span>
      </header>
      <dl>
        <dt>{texts.accountFor}</dt>
        <dd>{texts.systems[kindOf(identity)]}</dd>
        <dt>uid</dt>
        <dd className="long">
          <code>{identity.uid}</code> <Copy text={identity.uid} what="uid" />
        </dd>
        {identity.description === "" ? null : (
          <>
            <dt>{texts.description}</dt>
            <dd>
              <Name>{identity.description}</Name>
            </dd>
          </>
        )}
        <dt>{texts.inGroup}</dt>
        <dd>
          <PlaceLink uid={parentOf(identity.uid)} {...where} />
        </dd>
        {identity.labels.length === 0 ? null : (
          <>
            <dt>{texts.labels}</dt>
            <dd>
              <Name>{identity.labels.join(", ")}</Name>
            </dd>
          </>
        )}
        <dt>{texts.created}</dt>
        <dd>
          <Time time={identity.createTime} />
        </dd>
        <dt>{texts.lastUse}</dt>
        <dd>
          <LastUse identity={identity} />
        </dd>
        <dt>{texts.expires}</dt>
        <dd>
          <Expiry time={expiryOf(identity)} />
        </dd>
      </dl>
      <h3>{texts.match}</h3>
      <Claims match={identity} />
      <h3>{texts.access}</h3>
      {bindings.error ? <Failure error={bindings.error} /> : found ? <Bindings bindings={found} /> : <Skeleton rows={2} />}
      <Setup identity={identity} />
      {mayEdit && url.searchParams.has("edit") ? (
        <EditIdentity uid={identity.uid} onClose={() => replaceAddress(withParameter(url, "edit", undefined))} />
      ) : null}
      {isRemoving ? (
        <RemoveIdentity
          title={texts.removeRobot}
          kind={texts.systems[kindOf(identity)]}
          identity={identity}
          done={texts.robotRemoved}
          onClose={() => setRemoving(false)}
          onDone={onRemoved}
        />
      ) : null}
    </section>
  );
};

const OneRobot = ({ names, path, uid, capabilities }: GroupPageProps & Pick<RobotProps, "uid" | "capabilities">): ReactNode => {
  const url = useAddress();
  const result = useAsk(identitiesOf([uid]));
  const identity = result.data?.data.identities[0];
  const toAll = withParameter(url, "robot", undefined);
  const here = path.at(-1)?.uid ?? "";
  const known = useNames(parentOf(uid) === here ? [] : [parentOf(uid)], path);
  return (
    <GroupFrame names={names} path={path} current="robots" sent={[result.data?.sent]}>
      <p>
        <Link className="button" href={toAll}>
          {texts.allRobots}
        </Link>
      </p>
      {result.error ? <Failure error={result.error} retry={() => void result.refetch()} /> : null}
      {identity ? <Robot identity={identity} where={{ here, names: known }} capabilities={capabilities} onRemoved={() => navigate(toAll)} /> : null}
      {result.data && !identity ? (
        <Empty icon="warning" title={texts.notFoundTitle}>
          <p>{texts.gone}</p>
        </Empty>
      ) : null}
      {result.isPending ? <Skeleton rows={6} /> : null}
    </GroupFrame>
  );
};

const itemsOf = ({ identities }: ListIdentitiesResponse): readonly Identity[] => identities;

const views = [undefined, "aws"] as const;

const AllRobots = ({ names, path, capabilities }: GroupPageProps & Pick<RobotProps, "capabilities">): ReactNode => {
  const url = useAddress();
  const here = path.at(-1)?.uid ?? "";
  const isAws = url.searchParams.get("view") === "aws";
  const listOf = (type: RelationshipType, parameter: string): Question<ListIdentitiesResponse> => robotsIn(here, type, positionIn(url, parameter));
  const workloads = useAsk(isAws ? undefined : listOf("RELATIONSHIP_TYPE_CLAIM_MATCH", "workloads"));
  const keys = useAsk(isAws ? undefined : listOf("RELATIONSHIP_TYPE_STATIC", "keys"));
  const aws = useAsk(isAws ? listOf("RELATIONSHIP_TYPE_AWS_IDENTITY", "aws") : undefined);
  const lists = isAws ? [aws] : [workloads, keys];
  const groups = lists.flatMap(({ data }) => (data ? itemsOf(data.data) : [])).map(({ uid }) => parentOf(uid));
  const known = useNames(lists.every(({ isFetched }) => isFetched) ? groups.filter((uid) => uid !== here) : [], path);
  const columns = columnsFor(url, { here, names: known });
  const lacking = ["identity.create", "role_bindings.create"].filter((name) => !capabilities.has(name));
  const mayAdd = capabilities.size > 0 && lacking.length === 0;
  const shared = { itemsOf, columns, count: texts.robotCount };
  const action = mayAdd ? (
    <button type="button" className="button" onClick={() => replaceAddress(withParameter(url, "add", ""))}>
      <Icon name="plus" />
      {texts.addRobot}
    </button>
  ) : undefined;
  return (
    <GroupFrame names={names} path={path} current="robots" sent={lists.map(({ data }) => data?.sent)}>
      <div className="scope">
        <nav className="states" aria-label={texts.kindsOfRobots}>
          {views.map((view) => (
            <Link
              key={view ?? ""}
              href={withParameters(url, { view, workloads: undefined, keys: undefined, aws: undefined })}
              isSamePage
              aria-current={(view === "aws") === isAws ? "true" : undefined}
              className="button"
            >
              {view === undefined ? texts.ciAndTokens : texts.awsRoles}
            </Link>
          ))}
        </nav>
        <p className="quiet">
          {texts.robotsText} {capabilities.size === 0 || mayAdd ? "" : texts.changeNeeds(lacking)}
        </p>
      </div>
      {isAws ? (
        <ListSection
          {...shared}
          title={texts.awsRoles}
          action={action}
          result={aws}
          parameter="aws"
          empty={
            <Empty icon="user" title={texts.noAwsTitle}>
              <p>{texts.noAwsText}</p>
            </Empty>
          }
        />
      ) : (
        <>
          <ListSection
            {...shared}
            title={texts.workloads}
            about={texts.workloadsText}
            action={action}
            result={workloads}
            parameter="workloads"
            empty={
              <Empty icon="user" title={texts.noWorkloadsTitle}>
                <p>{texts.noWorkloadsText}</p>
              </Empty>
            }
          />
          <ListSection
            {...shared}
            title={texts.keyHolders}
            result={keys}
            parameter="keys"
            empty={
              <Empty icon="key" title={texts.noKeysTitle}>
                <p>{texts.noKeysText}</p>
                <Command text={`gantry iam pull-tokens create --server ${location.origin} --group ${here}`} what={texts.noKeysTitle} />
              </Empty>
            }
          />
        </>
      )}
      {mayAdd && url.searchParams.has("add") ? (
        <PresetForm
          path={path}
          onClose={() => replaceAddress(withParameter(url, "add", undefined))}
          onAdded={(uid) => replaceAddress(withParameters(url, { add: undefined, robot: uid }))}
        />
      ) : null}
    </GroupFrame>
  );
};

export const RobotsPage = ({ names, path }: GroupPageProps): ReactNode => {
  const capabilities = new Set(useAsk(mine(path.at(-1)?.uid ?? "")).data?.data.capabilities);
  const robot = useAddress().searchParams.get("robot") ?? "";
  return isUid(robot) ? (
    <OneRobot key={robot} names={names} path={path} uid={robot} capabilities={capabilities} />
  ) : (
    <AllRobots names={names} path={path} capabilities={capabilities} />
  );
};
