# Checks on a real Windows what Wine cannot show: the service manager, access lists, the event log, protection against programs (AppLocker and
# virus scanners) and session 0. Takes some minutes and writes a report. In a console of an administrator, with the agent installed, enrolled
# and stopped (packages/docs/installing.md, Windows):
#   powershell -ExecutionPolicy Bypass -File check-windows.ps1 -Program "C:\Program Files\Workbench agent\workbench-agent.exe" `
#     -Config C:\ProgramData\workbench-agent\agent.yaml
# It installs a service of its own name, ends its processes by force, and removes the service again. Configuration and data folder are then open
# to administrators only: install the service of the agent afterwards, or again ("service uninstall" and "service install").
# With -Client, the folder packages/client-python of a clone, it also runs the tests of the Python client that need no hub, and a job in
# JavaScript on the hub of the profile that "wb login" has made; -Python is the Python for it.
param(
  [Parameter(Mandatory = $true)][string]$Program,
  [Parameter(Mandatory = $true)][string]$Config,
  [string]$Name = 'workbench-check',
  [string]$Client = '',
  [string]$Python = 'python',
  [string]$Report = 'check-windows.txt'
)
$ErrorActionPreference = 'Stop'
$lines = @("Workbench agent on $([Environment]::OSVersion.VersionString), $(Get-Date -Format s)")
$faults = 0

function Add-Check([string]$What, [scriptblock]$Test) {
  try {
    $found = & $Test
    $script:lines += "ok       ${What}: $found"
  } catch {
    $script:faults++
    $script:lines += "FAULT    ${What}: $($_.Exception.Message)"
  }
  Write-Output $script:lines[-1]
}

function Invoke-Program([string]$Path, [string[]]$Arguments) {
  # Windows PowerShell makes an error of each line on standard error.
  $ErrorActionPreference = 'Continue'
  $output = (& $Path @Arguments 2>&1 | ForEach-Object { "$_" }) -join ' '
  if ($LASTEXITCODE -ne 0) { throw "exit code ${LASTEXITCODE}: $output" }
  $output
}

function Invoke-Agent([string[]]$Arguments) { Invoke-Program $Program $Arguments }

# Runs Python in the folder of the client. A program is a file, since quotation marks in an argument do not survive Windows PowerShell.
function Invoke-Python([string[]]$Arguments) {
  Push-Location $Client
  try { Invoke-Program $Python $Arguments } finally { Pop-Location }
}

function Wait-Until([string]$For, [int]$Seconds, [scriptblock]$Condition) {
  $deadline = (Get-Date).AddSeconds($Seconds)
  while (-not (& $Condition)) {
    if ((Get-Date) -gt $deadline) { throw "not within $Seconds s: $For" }
    Start-Sleep -Milliseconds 500
  }
}

function Get-ServiceProcess { (Get-CimInstance Win32_Service -Filter "Name='$Name'").ProcessId }

# Processes of the agent below the launcher, which is the service.
function Get-Children([int]$Of) { @(Get-CimInstance Win32_Process -Filter "ParentProcessId=$Of") }

Add-Check 'rights of an administrator' {
  $me = New-Object Security.Principal.WindowsPrincipal([Security.Principal.WindowsIdentity]::GetCurrent())
  if (-not $me.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) { throw 'start the console by "Run as administrator"' }
  'present'
}
Add-Check 'the program starts (AppLocker, virus scanner)' { Invoke-Agent @('--version') }
Add-Check 'signature' { (Get-AuthenticodeSignature $Program).Status }
Add-Check 'doctor' { Invoke-Agent @('--config', $Config, 'doctor') }
Add-Check 'job objects (the file koffi.node may be loaded)' {
  $found = Invoke-Agent @('--config', $Config, 'doctor', '--no-programs')
  if ($found -notmatch 'job objects: each instance program gets one') { throw $found }
  'available'
}
Add-Check 'service install' { Invoke-Agent @('--config', $Config, 'service', 'install', '--name', $Name) }
Add-Check 'account of its own' {
  $account = (Get-CimInstance Win32_Service -Filter "Name='$Name'").StartName
  if ($account -ne "NT SERVICE\$Name") { throw "it is $account" }
  $account
}
Add-Check 'access list of the configuration' {
  $allowed = 'S-1-5-18', 'S-1-5-32-544', [Security.Principal.WindowsIdentity]::GetCurrent().User.Value
  $allowed += (New-Object Security.Principal.NTAccount("NT SERVICE\$Name")).Translate([Security.Principal.SecurityIdentifier]).Value
  $rules = (Get-Acl $Config).GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier])
  $others = @($rules | Where-Object { $allowed -notcontains $_.IdentityReference.Value })
  if ($others.Count -gt 0) { throw "others may use it: $($others.IdentityReference.Value -join ', ')" }
  'the service, its installer, the system and administrators only'
}
Add-Check 'restart after a failure is set' {
  $set = (& sc.exe qfailure $Name) -join ' '
  if ($set -notmatch 'RESTART') { throw $set }
  'yes'
}
Add-Check 'service start' { Invoke-Agent @('service', 'start', '--name', $Name) }
Add-Check 'session 0' {
  $session = (Get-Process -Id (Get-ServiceProcess)).SessionId
  if ($session -ne 0) { throw "session $session" }
  'the service runs there'
}
Add-Check 'event of the start' {
  Wait-Until 'an event 100' 30 { Get-WinEvent -FilterHashtable @{ LogName = 'Application'; ProviderName = $Name; Id = 100 } -ErrorAction SilentlyContinue }
  'written'
}
Add-Check 'nothing is left of an agent that is ended by force, and the service starts again' {
  $launcher = Get-ServiceProcess
  Wait-Until 'an agent below the launcher' 30 { (Get-Children $launcher).Count -gt 0 }
  $agent = (Get-Children $launcher | Where-Object { $_.CommandLine -match '--config' } | Select-Object -First 1).ProcessId
  if (-not $agent) { throw 'the agent was not found below the launcher' }
  Wait-Until 'a program of an instance' 60 { @(Get-Children $agent | Where-Object { $_.Name -ne 'conhost.exe' }).Count -gt 0 }
  $programs = @(Get-Children $agent | ForEach-Object { $_.ProcessId })
  Stop-Process -Id $agent -Force
  Wait-Until 'the end of its programs' 10 { @($programs | Where-Object { Get-Process -Id $_ -ErrorAction SilentlyContinue }).Count -eq 0 }
  Wait-Until 'another process of the service' 60 { $now = Get-ServiceProcess; $now -ne 0 -and $now -ne $launcher }
  "$($programs.Count) programs ended with it"
}
Add-Check 'service stop' { Invoke-Agent @('service', 'stop', '--name', $Name) }
Add-Check 'service uninstall' { Invoke-Agent @('service', 'uninstall', '--name', $Name) }

if ($Client -ne '') {
  $Client = (Resolve-Path $Client).Path
  Add-Check 'Python client: its tests that need no hub' {
    $found = Invoke-Python @('-m', 'unittest', 'tests.test_parts', 'tests.test_calls', 'tests.test_transfers')
    if ($found -match 'Ran \d+ tests') { $Matches[0] } else { throw $found }
  }
  Add-Check 'Python client: the profile of wb, the store of certificates, and a job' {
    $work = Join-Path ([IO.Path]::GetTempPath()) "workbench-check-$PID"
    New-Item -ItemType Directory -Path $work | Out-Null
    try {
      $job = Join-Path $work 'job.py'
      @'
import sys
from workbench_hub import Hub

script = b"require('node:fs').writeFileSync('sizes.txt', 'wide')"
result = Hub().run(script=script, out=sys.argv[1], progress=False, timeout=120)
print(result.status, result.text("sizes.txt"))
'@ | Set-Content -Path $job -Encoding ASCII
      $env:PYTHONPATH = $Client
      $found = Invoke-Python @($job, (Join-Path $work 'results'))
      if ($found -ne 'FINISHED wide') { throw $found }
      $found
    } finally {
      Remove-Item Env:PYTHONPATH -ErrorAction SilentlyContinue
      Remove-Item -Recurse -Force $work
    }
  }
}

$lines += if ($faults -eq 0) { 'All checks passed.' } else { "$faults checks failed." }
$lines += 'By hand: give an instance limits: { memory: 256MiB, processors: 1 }. A job that runs Buffer.alloc(2 ** 30) must fail there, and one that keeps four threads busy must not use more than one processor (Task Manager).'
$lines += 'By hand: restart the host with a running task and look for an event 101 before the restart.'
$lines += 'By hand, with the Python client: in "hub.run(duration=600)" in a console, Ctrl+C must count within a second, and the task go on.'
$lines | Set-Content -Path $Report -Encoding UTF8
Write-Output $lines[-4] "The report is in $Report."
exit [int]($faults -gt 0)
