import type { ConfigFinding, FollowedFilesView, ServiceConfigView } from '../admin/program.js';
import type { Finding } from '../config/finding.js';
import { showServiceConfig } from '../config/show-service-config.js';
import { type ConfigSource, sourceProblem } from './config-source.js';
import type { SetState } from './follow-files.js';
import { countNames } from './load-service-config.js';

/** Clock milliseconds as milliseconds since 1970. */
export type ToWall = (at: number) => number;

/** What is in force of the service config's file, and whether the file is that. */
export function briefSource(source: ConfigSource): Pick<ServiceConfigView, 'path' | 'version' | 'problem'> {
  const { path, version } = source.inForce;
  return { path, version, problem: sourceProblem(source) };
}

/** The service config's file for `/config`. */
export function describeSource(source: ConfigSource, toWall: ToWall): ServiceConfigView {
  const { path, inForce, appliedAt, rejected } = source;
  return {
    ...briefSource(source),
    applied_at: toWall(appliedAt),
    methods: countNames(inForce.config),
    content: showServiceConfig(inForce.config),
    warnings: inForce.findings.map((finding) => describeFinding(path, finding)),
    rejected:
      rejected === null
        ? null
        : {
            version: rejected.version,
            rejected_at: toWall(rejected.at),
            findings: rejected.findings.map((finding) => describeFinding(path, finding)),
          },
  };
}

/** Files that are followed together. */
export function describeSet(
  { paths, outcome, readAt, appliedAt, problem }: SetState,
  toWall: ToWall,
): FollowedFilesView {
  return { paths, outcome, read_at: toWall(readAt), applied_at: toWall(appliedAt), problem };
}

/** As `hedgerow check --json` has it. */
export function describeFinding(file: string, finding: Finding): ConfigFinding {
  const { line, column, severity, path, message, rule } = finding;
  return { file, line, column, severity, path, message, rule };
}
