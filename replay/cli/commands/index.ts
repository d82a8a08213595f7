import type { CommandDefinition } from '../command';
import { bisect } from './bisect';
import { compare } from './compare';
import { convert } from './convert';
import { diff } from './diff';
import { doctor } from './doctor';
import { list } from './list';
import { mine, serve } from './not-yet';
import { promote } from './promote';
import { pull } from './pull';
import { record } from './record';
import { replay } from './replay';
import { show } from './show';
import { test } from './test';
import { verify } from './verify';

/** All commands, in the order of the help. */
export const commands = [
  record,
  list,
  show,
  pull,
  replay,
  verify,
  diff,
  promote,
  test,
  convert,
  doctor,
  bisect,
  compare,
  mine,
  serve,
] as const satisfies readonly CommandDefinition[];
