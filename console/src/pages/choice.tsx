// Several groups have the names of an address: a choice by uid.

import type { ReactNode } from "react";
import { addressOf } from "../address.ts";
import type { Sent } from "../api.ts";
import { type Column, Link, Name, Table, usePageTitle } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/group.ts";

interface Choice {
  readonly uid: string;
  readonly name: string;
  readonly address: string;
}

const columns: readonly Column<Choice>[] = [
  {
    title: texts.name,
    cell: ({ name, address }) => (
      <Link href={address}>
        <Name>{name}</Name>
      </Link>
    ),
  },
  { title: "uid", cell: ({ uid }) => <code>{uid}</code> },
];

interface ChoicePageProps {
  readonly sent: Sent | undefined;
  readonly paths: readonly (readonly Place[])[];
  /** The part of the address after the group. */
  readonly rest: string;
}

export const ChoicePage = ({ sent, paths, rest }: ChoicePageProps): ReactNode => {
  usePageTitle(texts.severalTitle);
  const choices = paths.map((path): Choice => {
    const uid = path.at(-1)?.uid ?? "";
    return { uid, name: path.map(({ name }) => name).join("/"), address: addressOf(uid.split("/")) + rest };
  });
  return (
    <>
      <h1 tabIndex={-1}>{texts.severalTitle}</h1>
      <p className="lead">{texts.severalText}</p>
      <section className="card">
        <Table caption={texts.severalTitle} columns={columns} items={choices} />
      </section>
      <SameRequest sent={[sent]} />
    </>
  );
};
