#!/usr/bin/env node
import { main } from '../dist/program/main.js';

process.exitCode = await main(process.argv);
